"""The targets that others are told by: a queue of SQS, or a bus of EventBridge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from headrace.queues.ports import Announcement, Target
from headrace.queues.sqs import NO_ANSWER, refusals
from headrace.runtime.aws import AwsClient, AwsError, call

SOURCE = "headrace"
TIMEOUT = 3.0
"""Seconds for one answer of a target."""


def queue_url(arn: str, sqs: AwsClient) -> str:
    """The URL of the queue with this ARN. It is not asked for: that would be one more right."""
    _, _, _, _, account, name = arn.split(":")
    return f"{sqs.meta.endpoint_url}/{account}/{name}"


class QueueTarget:
    """A queue of SQS. If its name ends with ``.fifo``, a group stays in order, and repeats within 5 min are one."""

    def __init__(self, url: str, sqs: AwsClient) -> None:
        self._url = url
        self._client = sqs

    def send(self, announcements: Sequence[Announcement]) -> list[str | None]:
        entries = [{"Id": str(at), **self._entry(each)} for at, each in enumerate(announcements)]
        return _outcomes(len(entries), lambda: self._refused(entries))

    def _entry(self, each: Announcement) -> dict[str, Any]:
        entry = {"MessageBody": each.body, "MessageAttributes": {"type": _text(each.type)}}
        if not self._url.endswith(".fifo"):
            return entry
        # A group has at most 128 characters of few scripts, which an id of a room may exceed.
        group = blake2b(each.group.encode(), digest_size=16).hexdigest()
        return entry | {"MessageGroupId": group, "MessageDeduplicationId": each.id}

    def _refused(self, entries: list[dict[str, Any]]) -> Mapping[int, str]:
        answer = call(self._client.send_message_batch, QueueUrl=self._url, Entries=entries)
        return {int(at): code for at, code in refusals(answer, entries).items()}


class BusTarget:
    """A bus of EventBridge. The type is the ``detail-type`` of an event, which rules select by."""

    def __init__(self, arn: str, events: AwsClient) -> None:
        self._arn = arn
        self._client = events

    def send(self, announcements: Sequence[Announcement]) -> list[str | None]:
        entries = [
            {"Source": SOURCE, "DetailType": each.type, "Detail": each.body, "EventBusName": self._arn}
            for each in announcements
        ]
        return _outcomes(len(entries), lambda: self._refused(entries))

    def _refused(self, entries: list[dict[str, Any]]) -> Mapping[int, str]:
        found = call(self._client.put_events, Entries=entries).get("Entries", [])
        codes = [each.get("ErrorCode", None if each.get("EventId") else NO_ANSWER) for each in found]
        codes += [NO_ANSWER] * (len(entries) - len(codes))
        return {at: code for at, code in enumerate(codes) if code is not None}


class NoTarget:
    """Nobody is told: the stage no longer has a target, but its mappings are not deleted yet."""

    def send(self, announcements: Sequence[Announcement]) -> list[str | None]:
        return [None] * len(announcements)


def target_of(arn: str, client: Callable[[str], AwsClient]) -> Target:
    """The target with this ARN, which may be empty; ``client`` makes a client of a service."""
    if not arn:
        return NoTarget()
    if arn.split(":")[2] == "events":
        return BusTarget(arn, client("events"))
    sqs = client("sqs")
    return QueueTarget(queue_url(arn, sqs), sqs)


def _text(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}


def _outcomes(count: int, send: Callable[[], Mapping[int, str]]) -> list[str | None]:
    try:
        refused = send()
    except AwsError as error:
        return [error.code] * count
    return [refused.get(at) for at in range(count)]
