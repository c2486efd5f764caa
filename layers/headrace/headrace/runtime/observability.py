"""Writes logs and metrics. Pass no private data: no message text, token or password; ids only where they help."""

from __future__ import annotations

import functools
import logging
import sys
import time
import traceback
from collections import defaultdict
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
_Counted = tuple[str, _Dimensions]

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
    logger.set_correlation_id(request_id)
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
    """Log the ``code`` with which AWS refused a call for a reason that only a change mends, and count it.

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


class Meter:
    """Counts during one invocation; :meth:`flush` writes the sums as CloudWatch metrics (EMF).

    Each line has the correlation id of the log lines as a property, which is no dimension. ``counts`` maps
    (name, dimensions) to a sum; dimensions are few and bounded: stream, lane, code.
    """

    def __init__(self) -> None:
        self.counts: dict[_Counted, float] = defaultdict(float)
        self.measured: dict[_Counted, list[float]] = defaultdict(list)
        self._traced: dict[_Dimensions, dict[str, dict[str, int]]] = defaultdict(dict)
        self._traced_bytes: dict[_Dimensions, int] = defaultdict(int)

    def count(self, name: str, value: float = 1, **dimensions: str) -> None:
        """Add ``value`` to the sum of ``name`` with these dimensions; 0 adds nothing."""
        if value:
            self.counts[name, tuple(sorted(dimensions.items()))] += value

    def measure(self, name: str, value: float, unit: MetricUnit = MetricUnit.Count, **dimensions: str) -> None:
        """Record ``value``, including 0: CloudWatch computes a distribution of all values of ``name``."""
        self.measured[name, tuple(sorted(dimensions.items()))].append(value)
        _units[name] = unit

    def trace(self, field: str, ids: Mapping[str, int], **dimensions: str) -> None:
        """Add ``ids`` with their counts to the property ``field`` of the line with these dimensions, to search logs by.

        They are ids of requests or of events. A line is written only if something is counted with its dimensions. Ids
        beyond ``TRACED_BYTES`` are left out.
        """
        line = tuple(sorted(dimensions.items()))
        known = self._traced[line].setdefault(field, {})
        for id_, count in ids.items():
            if id_ and id_ not in known:
                size = len(encode_basestring_ascii(id_)) + COUNT_BYTES
                if self._traced_bytes[line] + size > TRACED_BYTES:
                    continue
                self._traced_bytes[line] += size
            if id_:
                known[id_] = known.get(id_, 0) + count

    def flush(self) -> None:
        """Write all counts and values, one line per set of dimensions, and reset them."""
        lines: dict[_Dimensions, dict[str, Sequence[float]]] = {}
        for (name, dimensions), value in self.counts.items():
            lines.setdefault(dimensions, {})[name] = [value]
        for (name, dimensions), values in self.measured.items():
            lines.setdefault(dimensions, {})[name] = values[:VALUES_LIMIT]
            for start in range(VALUES_LIMIT, len(values), VALUES_LIMIT):
                self._write(dimensions, {name: values[start : start + VALUES_LIMIT]}, {})
        for dimensions, metrics in lines.items():
            self._write(dimensions, metrics, self._traced.get(dimensions, {}))
        self.counts.clear()
        self.measured.clear()
        self._traced.clear()
        self._traced_bytes.clear()

    @staticmethod
    def _write(dimensions: _Dimensions, metrics: Mapping[str, Sequence[float]], traced: Mapping[str, Any]) -> None:
        if _is_disabled():
            return
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
