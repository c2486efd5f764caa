"""Records of the retry lane that a table throttles: they are sent again as new ones, so that no try is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import times
from headrace.core.errors import PoisonRecord, StoreThrottled
from headrace.delivery.records import ATTEMPTS, THROTTLED_SINCE, attempts, receives
from headrace.delivery.retry_schedule import THROTTLED_SECONDS
from headrace.delivery.row_writer import Failed
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs.codec import ENCODING


def is_cause(failed: Sequence[Failed]) -> bool:
    """Whether a record failed because of throttling, and otherwise at most because of poison in it."""
    temporary = [each.reason for each in failed if not isinstance(each.reason, PoisonRecord)]
    return bool(temporary) and all(isinstance(reason, StoreThrottled) for reason in temporary)


def may_wait(raw: Mapping[str, Any], now: int) -> bool:
    """Whether an SQS record has waited for less than a day; ``now`` in microseconds."""
    since = _attributes(raw).get(THROTTLED_SINCE, "")
    return not times.is_canonical(since) or now - times.micros_of(since) < THROTTLED_SECONDS * times.SECOND


def record(raw: Mapping[str, Any], part: RetryRecord, now: int, first_pause: int) -> RetryRecord:
    """``part`` of the SQS record ``raw``, with the history of ``raw``. Poison is not delayed."""
    before = _attributes(raw)
    history = {name: value for name, value in before.items() if name not in (ENCODING, "reason")}
    tries = {ATTEMPTS: str(attempts(before) + receives(raw))}
    attributes = {**part.attributes, "lane": "retry", THROTTLED_SINCE: times.iso(now), **history, **tries}
    return RetryRecord(
        part.body, attributes, first_pause if part.attributes["reason"] == StoreThrottled.__name__ else 0
    )


def _attributes(raw: Mapping[str, Any]) -> dict[str, str]:
    """The text attributes of an SQS record."""
    found = raw.get("messageAttributes", {}).items()
    return {name: value["stringValue"] for name, value in found if "stringValue" in value}
