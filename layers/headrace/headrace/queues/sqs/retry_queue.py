"""The retry lane on an SQS queue, and the counts of any queue."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.collections import groups, slices
from headrace.core.errors import PoisonRecord, RetryLaneUnavailable
from headrace.queues.ports import RetryRecord
from headrace.runtime.aws import AwsClient, AwsError, NoAnswer, call
from headrace.runtime.threads import Parallel

MESSAGE_BYTES = 1024 * 1024
"""The most that one SQS message, and one batch of them, may hold: bodies and attributes."""
ENCODING = "encoding"
BASE64 = "base64"
_REFUSED_BY_SQS = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_text(record: RetryRecord) -> tuple[str, dict[str, str]]:
    """The body and attributes as SQS accepts them: bytes that it would refuse are encoded as base64 and marked.

    The body of a record that is marked already is not encoded again, so that invalid base64 remains recognizable.
    """
    try:
        text = record.body.decode()
    except UnicodeDecodeError:
        text = None
    if not text or _REFUSED_BY_SQS.search(text):
        return base64.b64encode(record.body).decode() or "=", {**record.attributes, ENCODING: BASE64}
    return text, dict(record.attributes)


def message_bytes(body: str, attributes: Mapping[str, str]) -> int:
    """The size of a message as SQS counts it; an attribute's type, ``String``, counts too."""
    return len(body.encode()) + sum(len(name) + len(value.encode()) + 6 for name, value in attributes.items())


def fits(record: RetryRecord) -> bool:
    """Whether ``record`` is small enough for SQS."""
    return message_bytes(*to_text(record)) <= MESSAGE_BYTES


def from_text(body: str, encoding: str | None) -> bytes:
    """The bytes that :func:`to_text` was given.

    Raises:
        PoisonRecord: not_base64.
    """
    if encoding != BASE64:
        return body.encode("utf-8", "surrogatepass")
    try:
        return b"" if body == "=" else base64.b64decode(body, validate=True)
    except ValueError:
        raise PoisonRecord("not_base64") from None


BATCH_ENTRIES = 10
PARALLEL = 4
"""Calls at the same time, and connections that a client should keep."""

Entry = dict[str, Any]
_Failures = dict[int, RetryLaneUnavailable]
"""What SQS did not take, by the index of the record."""


class SqsRetryLane:
    """A :class:`~headrace.queues.ports.RetryLane` on the queue ``url``."""

    def __init__(self, url: str, sqs: AwsClient) -> None:
        self._url = url
        self._client = sqs
        self._parallel = Parallel(PARALLEL, "retry-lane")

    def send(self, records: Sequence[RetryRecord]) -> list[RetryLaneUnavailable | None]:
        outcomes: list[RetryLaneUnavailable | None] = [None] * len(records)
        silent: list[RetryLaneUnavailable] = []
        for failures in self._parallel.map(lambda entries: self._send_batch(entries, silent), batches(records)):
            for index, failure in failures.items():
                outcomes[index] = failure
        return outcomes

    def postpone(self, pauses: Mapping[str, int]) -> None:
        entries = [
            {"Id": str(index), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
            for index, (receipt, seconds) in enumerate(pauses.items())
        ]
        self._parallel.map(self._postpone_batch, slices(entries, BATCH_ENTRIES))

    def _send_batch(self, entries: Sequence[Entry], silent: list[RetryLaneUnavailable]) -> _Failures:
        if silent:
            # Each batch would wait as long as the first, and the caller has a deadline.
            return {int(entry["Id"]): silent[0] for entry in entries}
        try:
            answer = call(self._client.send_message_batch, QueueUrl=self._url, Entries=entries)
        except AwsError as error:
            failure = RetryLaneUnavailable(f"the retry queue is unavailable: {error.code}")
            if isinstance(error, NoAnswer):
                silent.append(failure)
            return {int(entry["Id"]): failure for entry in entries}
        taken = {entry["Id"] for entry in answer.get("Successful", ())}
        codes = {entry["Id"]: entry.get("Code", "Unknown") for entry in answer.get("Failed", ())}
        return {
            int(entry["Id"]): RetryLaneUnavailable(f"the retry queue refused it: {codes.get(entry['Id'], 'no answer')}")
            for entry in entries
            if entry["Id"] not in taken
        }

    def _postpone_batch(self, entries: Sequence[Entry]) -> None:
        try:
            call(self._client.change_message_visibility_batch, QueueUrl=self._url, Entries=entries)
        except AwsError:
            return  # the queue's visibility timeout applies instead


def batches(records: Sequence[RetryRecord]) -> list[list[Entry]]:
    """SendMessageBatch's entries for ``records``, in groups that SQS takes; an entry's id is its record's index."""
    entries = (_entry(index, *to_text(record), record.delay) for index, record in enumerate(records))
    return groups(entries, BATCH_ENTRIES, MESSAGE_BYTES)


def _entry(index: int, body: str, attributes: Mapping[str, str], delay: int) -> tuple[Entry, int]:
    entry: Entry = {"Id": str(index), "MessageBody": body}
    if delay:
        entry["DelaySeconds"] = delay
    if attributes:
        entry["MessageAttributes"] = {
            name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
        }
    return entry, message_bytes(body, attributes)


_COUNTS = {
    "waiting": "ApproximateNumberOfMessages",
    "inFlight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}


def queue_counts(sqs: AwsClient, url: str) -> dict[str, int]:
    """Messages that are waiting, in flight (received, or hidden until their next try), and delayed.

    SQS counts approximately: the numbers are exact about a minute after the last change.

    Raises:
        RetryLaneUnavailable: the queue did not answer.
    """
    try:
        found = call(sqs.get_queue_attributes, QueueUrl=url, AttributeNames=list(_COUNTS.values()))["Attributes"]
    except AwsError as error:
        raise RetryLaneUnavailable(f"the queue does not answer: {error.code}") from error
    return {name: int(found.get(attribute, 0)) for name, attribute in _COUNTS.items()}
