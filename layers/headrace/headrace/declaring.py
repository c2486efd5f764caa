"""Declares the broker's topology for whoever asks: the stack's custom resource, a schedule, or a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.errors import ConfigurationError
from headrace.operations import custom_resource
from headrace.queues.rabbitmq.topology import declare
from headrace.runtime.observability import Meter, logger
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import TopologySettings

PHYSICAL_ID = "headrace-topology"
STARTING_SECONDS = 60.0
"""How long a broker that is still starting is waited for when a stack is deployed."""


def declare_for(event: Mapping[str, Any]) -> dict[str, Any]:
    """Declare, and answer in the form that ``event`` asks for: what was declared, and what stands differently.

    Raises:
        headrace.core.errors.HeadraceError: the broker could not be reached, or refuses a required queue. A custom
            resource gets an answer instead.
    """
    if custom_resource.is_request(event):
        return custom_resource.answer(event, PHYSICAL_ID, lambda: _declare(STARTING_SECONDS))
    return dict(_declare(0.0))


def _declare(seconds: float) -> dict[str, str]:
    report = declare(TopologySettings.read(), ManagedSecrets(), seconds=seconds)
    for difference in report.differs:
        logger.warning(difference)
    if report.parked is not None:
        meter = Meter()
        meter.measure("ParkedMessages", report.parked)
        meter.flush()
    if report.missing:
        raise ConfigurationError("; ".join(report.missing))
    return {"declared": ", ".join(report.declared), "differs": "; ".join(report.differs)}
