"""Declares the broker's topology for CloudFormation's custom resource, a schedule or a direct call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.core.errors import ConfigurationError
from headrace.operations import custom_resource
from headrace.runtime.observability import Meter, logger

if TYPE_CHECKING:
    from headrace.queues.rabbitmq.topology import Report

PHYSICAL_ID = "headrace-topology"
STARTING_SECONDS = 60.0
"""How long to wait for a broker that is still starting when a stack is deployed."""


def declare_for(event: Mapping[str, Any], declare: Callable[[float], Report]) -> dict[str, Any]:
    """Declare, and answer in the form that ``event`` needs: what was declared, and what exists in another form.

    ``declare`` takes the seconds to wait for the broker.

    Raises:
        headrace.core.errors.HeadraceError: the broker could not be reached, or refuses a required queue. A custom
            resource gets an answer instead.
    """
    if custom_resource.is_request(event):
        return custom_resource.answer(event, PHYSICAL_ID, lambda: _declare(declare, STARTING_SECONDS))
    return dict(_declare(declare, 0.0))


def _declare(declare: Callable[[float], Report], seconds: float) -> dict[str, str]:
    report = declare(seconds)
    for difference in report.differs:
        logger.warning(difference)
    if report.parked is not None:
        meter = Meter()
        meter.measure("ParkedMessages", report.parked)
        meter.flush()
    if report.missing:
        raise ConfigurationError("; ".join(report.missing))
    return {"declared": ", ".join(report.declared), "differs": "; ".join(report.differs)}
