"""Logs and metrics. Nothing private is ever passed in: no text, no token, no password; ids only where they help."""

from __future__ import annotations

import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from headrace.settings import ObserveSettings

QUIET_SECONDS = 5.0
KINDS_LIMIT = 256

_Dimensions = tuple[tuple[str, str], ...]
_Counted = tuple[str, _Dimensions]

_settings = ObserveSettings.read()
logger = Logger(service=_settings.powertools_service_name)


def correlate(event: Mapping[str, Any]) -> str:
    """The id of an API's ``event``, as in its access log and its envelopes; every log line has it from now on."""
    request_id = str(event["requestContext"].get("requestId", ""))
    logger.set_correlation_id(request_id)
    return request_id


class Quiet:
    """Lets one report per kind through in ``seconds``, and counts the ones it keeps back."""

    def __init__(self, seconds: float = QUIET_SECONDS, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._kinds: dict[str, tuple[float, int]] = {}

    def pass_count(self, kind: str) -> int:
        """How many of ``kind`` there were since the last one let through, this one included; 0: keep it back."""
        now = self._monotonic()
        since, kept = self._kinds.get(kind, (float("-inf"), 0))
        if now - since < self._seconds:
            self._kinds[kind] = (since, kept + 1)
            return 0
        if len(self._kinds) >= KINDS_LIMIT:
            self._kinds.clear()
        self._kinds[kind] = (now, 0)
        return kept + 1


_quiet = Quiet()


def report(kind: str, message: str, *, level: str = "warning", **fields: Any) -> None:
    """Log ``message`` at most once in 5 s per ``kind``, with the number of times it happened since."""
    count = _quiet.pass_count(kind)
    if count:
        getattr(logger, level)(message, extra={"kind": kind, "count": count, **fields})


def report_unexpected(error: BaseException) -> None:
    """Log where ``error`` was raised, but not its message: that may quote what a client sent.

    Whoever calls this answers the client, so that Lambda counts no error: ``Unexpected`` is counted in its place.
    """
    meter = Meter()
    meter.count("Unexpected")
    meter.flush()
    where = "".join(traceback.format_tb(error.__traceback__)[-8:])
    report(f"unexpected {type(error).__name__}", "an unexpected error", level="error", traceback=where)


class Meter:
    """Counts during one invocation, and writes the sums as CloudWatch metrics (EMF) at its end.

    ``counts`` maps (name, dimensions) to a sum; dimensions are few and bounded: stream, lane, code.
    """

    def __init__(self) -> None:
        self.counts: dict[_Counted, float] = defaultdict(float)
        self.measured: dict[_Counted, list[float]] = defaultdict(list)
        self._units: dict[str, MetricUnit] = {}

    def count(self, name: str, value: float = 1, **dimensions: str) -> None:
        """Add ``value`` to the sum of ``name`` with these dimensions; 0 adds nothing."""
        if value:
            self.counts[name, tuple(sorted(dimensions.items()))] += value

    def measure(self, name: str, value: float, unit: MetricUnit = MetricUnit.Count, **dimensions: str) -> None:
        """Keep ``value`` as it is, 0 too: CloudWatch makes a distribution of all values of ``name``."""
        self.measured[name, tuple(sorted(dimensions.items()))].append(value)
        self._units[name] = unit

    def total(self, name: str) -> float:
        """The sum of ``name`` over all dimensions."""
        return sum(value for (counted, _), value in self.counts.items() if counted == name)

    def flush(self) -> None:
        """Write what was counted and measured, one line per set of dimensions, and start from nothing."""
        lines: dict[_Dimensions, EphemeralMetrics] = {}
        for (name, dimensions), value in self.counts.items():
            _line(lines, dimensions).add_metric(name, unit=MetricUnit.Count, value=value)
        for (name, dimensions), values in self.measured.items():
            for value in values:
                _line(lines, dimensions).add_metric(name, unit=self._units[name], value=value)
        for line in lines.values():
            line.flush_metrics()
        self.counts.clear()
        self.measured.clear()


def _line(lines: dict[_Dimensions, EphemeralMetrics], dimensions: _Dimensions) -> EphemeralMetrics:
    if dimensions not in lines:
        line = lines[dimensions] = EphemeralMetrics(
            namespace=_settings.powertools_metrics_namespace, service=_settings.powertools_service_name
        )
        for dimension, of in dimensions:
            line.add_dimension(dimension, of)
    return lines[dimensions]
