"""The retry lane and the dead lane on SQS queues, and the counts of any queue."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from headrace.core.collections import groups, slices
from headrace.core.errors import DeadLaneUnavailable, PoisonRecord, RetryLaneUnavailable
from headrace.queues.ports import RECEIVE_LIMIT, ReceivedLetter, RetryRecord
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


NO_ANSWER = "NoAnswer"
BATCH_ENTRIES = 10
PARALLEL = 4
"""Calls at the same time, and connections that a client should keep."""

Entry = dict[str, Any]


class SqsRetryLane:
    """A :class:`~headrace.queues.ports.RetryLane` on the queue ``url``."""

    def __init__(self, url: str, sqs: AwsClient) -> None:
        self._url = url
        self._client = sqs
        self._parallel = Parallel(PARALLEL, "retry-lane")

    def send(self, records: Sequence[RetryRecord]) -> list[RetryLaneUnavailable | None]:
        silent: list[RetryLaneUnavailable] = []
        sent = self._parallel.map(lambda entries: self._send_batch(entries, silent), batches(records))
        return [outcome for outcomes in sent for outcome in outcomes]

    def postpone(self, pauses: Mapping[str, int]) -> None:
        entries = [{"ReceiptHandle": receipt, "VisibilityTimeout": seconds} for receipt, seconds in pauses.items()]
        _in_batches(self._client.change_message_visibility_batch, self._url, entries)

    def _send_batch(
        self, entries: Sequence[Entry], silent: list[RetryLaneUnavailable]
    ) -> list[RetryLaneUnavailable | None]:
        if silent:
            # Each batch would wait as long as the first, and the caller has a deadline.
            return [silent[0]] * len(entries)
        try:
            answer = call(self._client.send_message_batch, QueueUrl=self._url, Entries=entries)
        except AwsError as error:
            failure = RetryLaneUnavailable(f"the retry queue is unavailable: {error.code}")
            if isinstance(error, NoAnswer):
                silent.append(failure)
            return [failure] * len(entries)
        refused = refusals(answer, entries)
        found = (refused.get(each["Id"]) for each in entries)
        return [None if code is None else RetryLaneUnavailable(f"the retry queue refused it: {code}") for code in found]


def refusals(answer: Mapping[str, Any], entries: Sequence[Entry]) -> dict[str, str]:
    """Why SendMessageBatch did not take some of ``entries``, by their ids."""
    taken = {entry["Id"] for entry in answer.get("Successful", ())}
    codes = {entry["Id"]: str(entry.get("Code", "Unknown")) for entry in answer.get("Failed", ())}
    return {each["Id"]: codes.get(each["Id"], NO_ANSWER) for each in entries if each["Id"] not in taken}


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


LONG_POLL = 1
"""Seconds. A long poll queries all servers of the queue; a short one may miss messages."""
TIMEOUT = 5.0
"""Seconds that the client of a dead lane should wait for an answer: the poll, and time to spare."""


class SqsDeadLane:
    """A :class:`~headrace.queues.ports.DeadLane` on the queue ``url``."""

    def __init__(self, url: str, sqs: AwsClient) -> None:
        self._url = url
        self._client = sqs

    def receive(self, hold: int) -> list[ReceivedLetter]:
        try:
            answer = call(
                self._client.receive_message,
                QueueUrl=self._url,
                MaxNumberOfMessages=RECEIVE_LIMIT,
                VisibilityTimeout=hold,
                WaitTimeSeconds=LONG_POLL,
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
            )
        except AwsError as error:
            raise DeadLaneUnavailable(f"the dead-letter queue is unavailable: {error.code}") from error
        return [_received(message) for message in answer.get("Messages", ())]

    def others_hold(self, count: int) -> bool:
        try:
            return queue_counts(self._client, self._url)["inFlight"] > count
        except RetryLaneUnavailable as error:
            raise DeadLaneUnavailable(error.message) from error

    def release(self, held: Sequence[ReceivedLetter]) -> None:
        entries = [{"ReceiptHandle": each.receipt, "VisibilityTimeout": 0} for each in held]
        _in_batches(self._client.change_message_visibility_batch, self._url, entries)

    def delete(self, held: Sequence[ReceivedLetter]) -> list[bool]:
        entries = [{"ReceiptHandle": each.receipt} for each in held]
        return _in_batches(self._client.delete_message_batch, self._url, entries)


def _in_batches(operation: Callable[..., dict[str, Any]], url: str, entries: Sequence[Entry]) -> list[bool]:
    """Whether SQS took each of ``entries``. Where a call fails, it may have taken them."""
    done: set[str] = set()
    for part in slices([{"Id": str(index), **entry} for index, entry in enumerate(entries)], BATCH_ENTRIES):
        with suppress(AwsError):
            done.update(each["Id"] for each in call(operation, QueueUrl=url, Entries=part).get("Successful", ()))
    return [str(index) in done for index in range(len(entries))]


def _received(message: Mapping[str, Any]) -> ReceivedLetter:
    system = message.get("Attributes", {})
    given = message.get("MessageAttributes", {})
    return ReceivedLetter(
        message["MessageId"],
        message["ReceiptHandle"],
        message["Body"],
        {name: value["StringValue"] for name, value in given.items() if "StringValue" in value},
        int(system.get("SentTimestamp", 0)) * 1000,
        int(system.get("ApproximateReceiveCount", 1)),
    )


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
