"""Writes logs and metrics. Pass no private data: no message text, token or password; ids only where they help."""

from __future__ import annotations

import functools
import logging
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence, Set
from json.encoder import encode_basestring_ascii
from typing import Any, cast

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.functions import is_metrics_disabled
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from headrace.core.caller import Caller
from headrace.core.collections import BoundedDict
from headrace.core.json import encode_ascii
from headrace.runtime.settings import ObserveSettings

NAMESPACE = "Headrace"
"""The CloudWatch namespace of the metrics."""
QUIET_SECONDS = 5.0
KINDS_LIMIT = 256
VALUES_LIMIT = 100
"""Values of a metric in one line, the limit of CloudWatch."""
TRACED_BYTES = 40 * 1024
"""Bytes of all ids in one line. A line has at most 64 KB: Lambda splits longer lines, and a part counts nothing."""

COUNT_BYTES = 8
"""Bytes of an id's count in a line, with its colon and comma."""

_Dimensions = tuple[tuple[str, str], ...]

_settings = ObserveSettings.read()
logger = Logger(service=_settings.powertools_service_name)
# Powertools would take the level of Lambda's ApplicationLogLevel, which is never above INFO: Lambda counts the lines of
# metrics as INFO, and drops them above it.
logging.getLogger(logger.name).setLevel(_settings.powertools_log_level)
_formatter = cast(LambdaPowertoolsFormatter, logger.registered_formatter)
_emf = AmazonCloudWatchEMFProvider(namespace=NAMESPACE, service=_settings.powertools_service_name)


def correlate(event: Mapping[str, Any]) -> str:
    """Return the request id of an API's ``event``, and set it as the correlation id of all further log lines."""
    request_id = str(event["requestContext"].get("requestId", ""))
    _formatter.append_keys(correlation_id=request_id)  # what the logger would do, without looking for its formatter
    return request_id


def correlate_batch(requests: Set[str], invocation: str) -> None:
    """Set the correlation id of all further log lines of a batch: its one request's, or else ``invocation``.

    ``invocation`` is Lambda's request id. Metric lines say which requests a batch has (:meth:`Meter.trace`).
    """
    (only,) = requests if len(requests) == 1 else ("",)
    logger.set_correlation_id(only or invocation or None)


class LogThrottle:
    """Passes one report per kind in ``QUIET_SECONDS``, and counts the suppressed ones."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._kinds: BoundedDict[str, tuple[float, int]] = BoundedDict(KINDS_LIMIT)

    def pass_count(self, kind: str) -> int:
        """How many reports of ``kind`` this one represents: itself and those suppressed before it. 0: suppress it."""
        now = self._monotonic()
        since, kept = self._kinds.get(kind, (float("-inf"), 0))
        if now - since < QUIET_SECONDS:
            self._kinds[kind] = (since, kept + 1)
            return 0
        self._kinds[kind] = (now, 0)
        return kept + 1


_throttle = LogThrottle()


def report(kind: str, message: str, *, level: str = "warning", **fields: Any) -> None:
    """Log ``message`` at most once in 5 s per ``kind``, with the number of reports since the last one."""
    count = _throttle.pass_count(kind)
    if count:
        getattr(logger, level)(message, extra={"kind": kind, "count": count, **fields})


def report_refusal(operation: str, code: str) -> None:
    """Log the ``code`` with which AWS refused a call for a reason that only a change repairs, and count it.

    The metric is ``Unexpected``: to the client, the service is unavailable, which sets no alarm.
    """
    _count_unexpected()
    report(f"refused {operation} {code}", f"AWS refused {operation}: {code}", level="error")


def report_unexpected(error: BaseException) -> None:
    """Log where ``error`` was raised, but not its message, which may quote a client's data.

    The caller still responds to the client, so Lambda counts no error; the metric ``Unexpected`` counts it instead.
    """
    _count_unexpected()
    where = "".join(traceback.format_tb(error.__traceback__)[-8:])
    report(f"unexpected {type(error).__name__}", "an unexpected error", level="error", traceback=where)


def _count_unexpected() -> None:
    meter = Meter()
    meter.count("Unexpected")
    meter.flush()


class Line:
    """What is counted and measured with one set of dimensions. It becomes one line of metrics."""

    __slots__ = ("_traced_bytes", "metrics", "traced")

    def __init__(self) -> None:
        self.metrics: dict[str, list[float]] = {}
        self.traced: dict[str, dict[str, int]] = {}
        self._traced_bytes = 0

    def trace(self, field: str, ids: Mapping[str, int]) -> None:
        """Add ``ids`` with their counts to the property ``field``, to search logs by.

        They are ids of requests or of events. Ids beyond ``TRACED_BYTES`` are left out.
        """
        known = self.traced.setdefault(field, {})
        for id_, count in ids.items():
            size = 0 if id_ in known else len(encode_basestring_ascii(id_)) + COUNT_BYTES
            if id_ and self._traced_bytes + size <= TRACED_BYTES:
                self._traced_bytes += size
                known[id_] = known.get(id_, 0) + count

    def write(self, dimensions: _Dimensions) -> None:
        """Write all of it. Nothing is written of ids alone, and values beyond ``VALUES_LIMIT`` have further lines."""
        if not self.metrics or _is_disabled():
            return
        left, traced = self.metrics, self.traced
        while max(map(len, left.values())) > VALUES_LIMIT:
            _write(dimensions, {name: values[:VALUES_LIMIT] for name, values in left.items()}, traced)
            left, traced = {name: rest for name, values in left.items() if (rest := values[VALUES_LIMIT:])}, {}
        _write(dimensions, left, traced)


class Meter:
    """Counts during one invocation; :meth:`flush` writes the sums as CloudWatch metrics (EMF).

    Each line has the correlation id of the log lines as a property, which is no dimension. Dimensions are few and
    bounded: stream, lane, code.
    """

    def __init__(self) -> None:
        self.lines: dict[_Dimensions, Line] = {}

    def line(self, **dimensions: str) -> Line:
        """The line with these dimensions."""
        key = tuple(sorted(dimensions.items()))
        found = self.lines.get(key)
        if found is None:
            found = self.lines[key] = Line()
        return found

    def count(self, name: str, value: float = 1, **dimensions: str) -> None:
        """Add ``value`` to the sum of ``name`` in the line with these dimensions; 0 adds nothing."""
        if value:
            metrics = self.line(**dimensions).metrics
            (known,) = metrics.get(name, (0.0,))
            metrics[name] = [known + value]

    def measure(self, name: str, value: float, unit: MetricUnit = MetricUnit.Count, **dimensions: str) -> None:
        """Record ``value``, including 0: CloudWatch computes a distribution of all values of ``name``."""
        self.line(**dimensions).metrics.setdefault(name, []).append(value)
        _units[name] = unit

    def trace(self, field: str, ids: Mapping[str, int], **dimensions: str) -> None:
        """:meth:`Line.trace` in the line with these dimensions."""
        self.line(**dimensions).trace(field, ids)

    def flush(self) -> None:
        """Write all lines, and reset them."""
        lines, self.lines = self.lines, {}
        for dimensions, line in lines.items():
            line.write(dimensions)


def _write(dimensions: _Dimensions, metrics: Mapping[str, Sequence[float]], traced: Mapping[str, Any]) -> None:
    before, after = _declaration(dimensions, tuple(metrics))
    correlation_id = _formatter.log_format.get("correlation_id")
    properties = {"correlation_id": correlation_id, **traced} if correlation_id else traced
    values = encode_ascii({**properties, **metrics})[1:]
    sys.stdout.write(f"{before}{time.time_ns() // 1_000_000}{after}{values}\n")


_is_disabled = functools.cache(is_metrics_disabled)
_units: dict[str, MetricUnit] = {}
"""The units of measured metrics: a metric has the same one everywhere. Other metrics are counts."""


@functools.lru_cache(maxsize=256)
def _declaration(dimensions: _Dimensions, names: Sequence[str]) -> tuple[str, str]:
    """A metric line until its timestamp, and from there until the values: what all lines of these metrics share.

    It is the output of ``Metrics.flush_metrics()``, which would take a tenth of the time of a whole frame.
    """
    metrics = {name: {"Unit": _units.get(name, MetricUnit.Count).value} for name in names}
    line = _emf.serialize_metric_set(metrics, dict(dimensions, service=_settings.powertools_service_name), {})
    line["_aws"]["Timestamp"] = 0
    text = encode_ascii({name: value for name, value in line.items() if name not in metrics})
    before, after = text.split('"Timestamp":0', 1)
    return f'{before}"Timestamp":', f"{after[:-1]},"


def audit(action: str, operator: Caller, **fields: Any) -> None:
    """Log one line: the ``action``, who did it, and ``fields``, such as a filter and counts; no text of an event.

    The level is WARNING, so that a stage which logs no INFO has the line too.
    """
    logger.warning(action, extra={"kind": "audit", "operator": operator.subject, **fields})
