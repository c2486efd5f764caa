"""The pauses between the tries of the retry lane, which decide how long an outage may last (P6).

Only this module defines pauses; the docs and the template state what is computed here. Records that a table throttles
are sent again as new ones, so that no try is spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import times
from headrace.core.errors import PoisonRecord, StoreThrottled
from headrace.delivery.records import ATTEMPTS, THROTTLED_SINCE, attempts, receives, sqs_attributes
from headrace.delivery.row_writer import Failed
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import ENCODING

RECEIVES = 5
"""Tries before SQS moves a record to the dead lane: the template's ``maxReceiveCount``."""
FACTOR = 4
LONGEST_PAUSE = 900
THROTTLED_SECONDS = 86_400
"""How long a record may wait for a table that throttles it. Until then, throttled tries do not count."""


def pause_after(received: int, first_pause: int) -> int:
    """Seconds until a record that was received ``received`` times becomes visible again.

    0 after its last try: SQS moves it to the dead lane at the next receive.
    """
    if received >= RECEIVES:
        return 0
    return min(first_pause * int(FACTOR ** (max(1, received) - 1)), LONGEST_PAUSE)


def is_throttled(failed: Sequence[Failed]) -> bool:
    """Whether a record failed because of throttling, and otherwise at most because of poison in it."""
    temporary = [each.reason for each in failed if not isinstance(each.reason, PoisonRecord)]
    return bool(temporary) and all(isinstance(reason, StoreThrottled) for reason in temporary)


def may_wait(raw: Mapping[str, Any], now: int) -> bool:
    """Whether an SQS record has waited for less than a day; ``now`` in microseconds."""
    since = sqs_attributes(raw).get(THROTTLED_SINCE, "")
    return not times.is_canonical(since) or now - times.micros_of(since) < THROTTLED_SECONDS * times.SECOND


def throttled_record(raw: Mapping[str, Any], part: RetryRecord, now: int, first_pause: int) -> RetryRecord:
    """``part`` of the SQS record ``raw``, with the history of ``raw``. Poison is not delayed."""
    before = sqs_attributes(raw)
    history = {name: value for name, value in before.items() if name not in (ENCODING, "reason")}
    tries = {ATTEMPTS: str(attempts(before) + receives(raw))}
    attributes = {**part.attributes, "lane": "retry", THROTTLED_SINCE: times.iso(now), **history, **tries}
    return RetryRecord(
        part.body, attributes, first_pause if part.attributes["reason"] == StoreThrottled.__name__ else 0
    )
