"""The retry queue in SQS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from botocore.exceptions import ClientError

from headrace.core.errors import RetryLaneUnavailable
from headrace.queues.ports import MESSAGE_BYTES, RetryRecord, VisibilityChange, message_bytes, to_text
from headrace.runtime.aws import AWS_ERRORS, client, error_code
from headrace.runtime.parallel import Parallel

BATCH_ENTRIES = 10
PARALLEL = 4

Entry = dict[str, Any]


class SqsRetryLane:
    """A :class:`~headrace.queues.ports.RetryLane` on the queue ``url``."""

    def __init__(self, url: str, make_client: Callable[[], Any] = lambda: client("sqs", connections=PARALLEL)) -> None:
        self._url = url
        self._make_client = make_client
        self._client: Any = None
        self._parallel = Parallel(PARALLEL, "retry-lane")

    def send(self, records: Sequence[RetryRecord]) -> list[RetryLaneUnavailable | None]:
        outcomes: list[RetryLaneUnavailable | None] = [None] * len(records)
        silent: list[RetryLaneUnavailable] = []
        for failures in self._at_once(lambda entries: self._send_batch(entries, silent), list(batches(records))):
            for index, failure in failures.items():
                outcomes[index] = failure
        return outcomes

    def postpone(self, postponements: Sequence[VisibilityChange]) -> None:
        entries = [
            {"Id": str(index), "ReceiptHandle": each.receipt, "VisibilityTimeout": each.seconds}
            for index, each in enumerate(postponements)
        ]
        self._at_once(self._postpone_batch, _slices(entries))

    def _at_once(self, call: Callable[[list[Entry]], Any], groups: list[list[Entry]]) -> list[Any]:
        if groups and self._client is None:
            self._client = self._make_client()
        return self._parallel.map(call, groups)

    def _send_batch(self, entries: list[Entry], silent: list[RetryLaneUnavailable]) -> dict[int, RetryLaneUnavailable]:
        if silent:
            # Each batch would wait as long as the first, and the caller has a deadline.
            return {int(entry["Id"]): silent[0] for entry in entries}
        try:
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        except AWS_ERRORS as error:
            failure = RetryLaneUnavailable(f"the retry queue is unavailable: {error_code(error)}")
            if not isinstance(error, ClientError):
                silent.append(failure)
            return {int(entry["Id"]): failure for entry in entries}
        taken = {entry["Id"] for entry in answer.get("Successful", ())}
        codes = {entry["Id"]: entry.get("Code", "Unknown") for entry in answer.get("Failed", ())}
        return {
            int(entry["Id"]): RetryLaneUnavailable(f"the retry queue refused it: {codes.get(entry['Id'], 'no answer')}")
            for entry in entries
            if entry["Id"] not in taken
        }

    def _postpone_batch(self, entries: list[Entry]) -> None:
        try:
            self._client.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)
        except AWS_ERRORS:
            # Then the queue's visibility timeout applies: the record is received later, and nothing is lost.
            return


def _slices(entries: list[Entry]) -> list[list[Entry]]:
    return [entries[start : start + BATCH_ENTRIES] for start in range(0, len(entries), BATCH_ENTRIES)]


def batches(records: Sequence[RetryRecord]) -> Iterator[list[Entry]]:
    """SendMessageBatch's entries for ``records``, in groups that SQS takes; an entry's id is its record's index."""
    group: list[Entry] = []
    size = 0
    for index, record in enumerate(records):
        body, attributes = to_text(record)
        entry_size = message_bytes(body, attributes)
        if group and (len(group) == BATCH_ENTRIES or size + entry_size > MESSAGE_BYTES):
            yield group
            group, size = [], 0
        entry: Entry = {"Id": str(index), "MessageBody": body}
        if attributes:
            entry["MessageAttributes"] = {
                name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
            }
        group.append(entry)
        size += entry_size
    if group:
        yield group


_COUNTS = {
    "waiting": "ApproximateNumberOfMessages",
    "inFlight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}


def queue_counts(sqs: Any, url: str) -> dict[str, int]:
    """Messages that wait, that are in flight (received, or hidden until their next try), and that are delayed.

    SQS counts approximately: within a minute of the last change the numbers are right.

    Raises:
        RetryLaneUnavailable: the queue did not answer.
    """
    try:
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS.values()))["Attributes"]
    except AWS_ERRORS as error:
        raise RetryLaneUnavailable(f"the queue does not answer: {error_code(error)}") from error
    return {name: int(found.get(attribute, 0)) for name, attribute in _COUNTS.items()}
