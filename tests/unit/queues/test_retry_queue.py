"""The retry lane on SQS while SQS does not answer."""

from __future__ import annotations

import threading
from typing import Any

from botocore.exceptions import ReadTimeoutError

from headrace.core.errors import RetryLaneUnavailable
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import PARALLEL, RetryLane


class Silent:
    """A client that answers only after every thread has called it."""

    def __init__(self) -> None:
        self.calls = 0
        self._all = threading.Barrier(PARALLEL)

    def send_message_batch(self, **_parameters: Any) -> dict[str, Any]:
        self.calls += 1
        self._all.wait(10)
        raise ReadTimeoutError(endpoint_url="http://127.0.0.1")


def test_several_batches_wait_for_a_silent_queue_at_the_same_time() -> None:
    silent = Silent()
    lane = RetryLane("http://127.0.0.1/123456789012/RetryQueue", silent)

    outcomes = lane.send([RetryRecord(b"1")] * 200)

    assert [type(outcome) for outcome in outcomes] == [RetryLaneUnavailable] * 200
    assert silent.calls == PARALLEL
