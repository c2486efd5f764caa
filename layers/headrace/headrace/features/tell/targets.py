"""The targets that others are told by: a queue of SQS, or a bus of EventBridge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any

from headrace.queues.sqs import NO_ANSWER, refusals
from headrace.runtime.aws import AwsClient, AwsError, call

SOURCE = "headrace"
TIMEOUT = 3.0
"""Seconds for one answer of a target."""
AT_ONCE = 10
BYTES = 240 * 1024
"""What one call to a target takes: SQS and EventBridge once took 256 KB with everything, and take more now."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """An event that others are told: ``body`` is JSON in ASCII. ``group`` orders it among others, where they are."""

    id: str
    type: str
    group: str
    body: str


Target = Callable[[Sequence[Announcement]], "list[str | None]"]
"""Tells at most ten at once; of each, in order, ``None`` when it is taken, else the code of its refusal.

Never raises for what the target or the network does. One that is refused may still be taken.
"""


def target_of(arn: str, client: Callable[[str], AwsClient]) -> Target:
    """The target with this ARN, which may be empty; ``client`` makes a client of a service."""
    if not arn:
        # The stage no longer has a target, but its mappings are not deleted yet.
        return lambda announcements: [None] * len(announcements)
    if arn.split(":")[2] == "events":
        return partial(_outcomes, partial(_refused_by_bus, client("events"), arn))
    sqs = client("sqs")
    # The URL of the queue is not asked for: that would be one more right.
    _, _, _, _, account, name = arn.split(":")
    return partial(_outcomes, partial(_refused_by_queue, sqs, f"{sqs.meta.endpoint_url}/{account}/{name}"))


def _refused_by_queue(sqs: AwsClient, url: str, announcements: Sequence[Announcement]) -> Mapping[int, str]:
    """If the name of the queue ends with ``.fifo``, a group stays in order, and repeats within 5 min are one."""
    entries: list[dict[str, Any]] = []
    for at, each in enumerate(announcements):
        kind = {"type": {"DataType": "String", "StringValue": each.type}}
        entries.append({"Id": str(at), "MessageBody": each.body, "MessageAttributes": kind})
        if url.endswith(".fifo"):
            # A group has at most 128 characters of few scripts, which an id of a room may exceed.
            group = blake2b(each.group.encode(), digest_size=16).hexdigest()
            entries[at] |= {"MessageGroupId": group, "MessageDeduplicationId": each.id}
    answer = call(sqs.send_message_batch, QueueUrl=url, Entries=entries)
    return {int(at): code for at, code in refusals(answer, entries).items()}


def _refused_by_bus(events: AwsClient, arn: str, announcements: Sequence[Announcement]) -> Mapping[int, str]:
    """The type is the ``detail-type`` of an event, which rules select by."""
    entries = [
        {"Source": SOURCE, "DetailType": each.type, "Detail": each.body, "EventBusName": arn} for each in announcements
    ]
    found = call(events.put_events, Entries=entries).get("Entries", [])
    codes = [each.get("ErrorCode", None if each.get("EventId") else NO_ANSWER) for each in found]
    codes += [NO_ANSWER] * (len(entries) - len(codes))
    return {at: code for at, code in enumerate(codes) if code is not None}


def _outcomes(
    refused: Callable[[Sequence[Announcement]], Mapping[int, str]], announcements: Sequence[Announcement]
) -> list[str | None]:
    try:
        codes = refused(announcements)
    except AwsError as error:
        return [error.code] * len(announcements)
    return [codes.get(at) for at in range(len(announcements))]
