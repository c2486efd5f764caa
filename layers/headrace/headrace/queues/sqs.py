"""The retry lane on an SQS queue, and the form of records on any queue."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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


NO_ANSWER = "NoAnswer"
BATCH_ENTRIES = 10
PARALLEL = 4
"""Calls at the same time, and connections that a client should keep."""

Entry = dict[str, Any]


class RetryLane:
    """Holds records in the queue ``url`` that are to be tried again, and delivers them later."""

    def __init__(self, url: str, sqs: AwsClient) -> None:
        self._url = url
        self._client = sqs
        self._parallel = Parallel(PARALLEL, "retry-lane")

    def send(self, records: Sequence[RetryRecord]) -> list[RetryLaneUnavailable | None]:
        """One outcome per record, in order: ``None`` when it is stored. Never raises for what the queue does."""
        silent: list[RetryLaneUnavailable] = []
        sent = self._parallel.map(lambda entries: self._send_batch(entries, silent), batches(records))
        return [outcome for outcomes in sent for outcome in outcomes]

    def postpone(self, pauses: Mapping[str, int]) -> None:
        """Make received records visible again after these seconds (0: at once), by receipt.

        Where that fails, the queue's visibility timeout applies.
        """
        entries = [{"ReceiptHandle": receipt, "VisibilityTimeout": seconds} for receipt, seconds in pauses.items()]
        in_batches(self._client.change_message_visibility_batch, self._url, entries)

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


def in_batches(operation: Callable[..., dict[str, Any]], url: str, entries: Sequence[Entry]) -> list[bool]:
    """Whether SQS took each of ``entries``. Where a call fails, it may have taken them."""
    done: set[str] = set()
    for part in slices([{"Id": str(index), **entry} for index, entry in enumerate(entries)], BATCH_ENTRIES):
        with suppress(AwsError):
            done.update(each["Id"] for each in call(operation, QueueUrl=url, Entries=part).get("Successful", ()))
    return [str(index) in done for index in range(len(entries))]
