"""Chat events, and the WebSocket frames that carry them.

Frames are joined as text instead of with ``json.dumps`` of nested objects, because the load test shares the CPU with
the platform that it measures.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FRAME_EVENTS = 100
FRAME_BYTES = 30_000  # API Gateway closes the connection on a frame over 32 KB

quote = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """One message of one user in one room.

    ``timestamp`` is UTC with six digits (``2025-11-21T10:00:58.722861Z``). ``username`` is set only for a trusted
    producer (scope ``events:write``): the user is then named in the frame and not taken from the token. Only such a
    producer may send another ``message_type``: JOIN or LEAVE.
    """

    room_id: str
    message_id: str
    timestamp: str
    user_id: str
    message: str
    username: str | None = None
    message_type: str = "TEXT"

    def fields(self) -> str:
        """The event's JSON members without braces, ready to be joined into a frame."""
        who = "" if self.username is None else f',"userId":{quote(self.user_id)},"username":{quote(self.username)}'
        kind = "" if self.message_type == "TEXT" else f',"messageType":"{self.message_type}"'
        return (
            f'"roomId":{quote(self.room_id)},"message":{quote(self.message)},"messageId":{quote(self.message_id)},'
            f'"timestamp":"{self.timestamp}"{who}{kind}'
        )

    def body(self, *, with_room: bool = True) -> dict[str, str]:
        """The event as a JSON body."""
        fields = {"message": self.message, "messageId": self.message_id, "timestamp": self.timestamp}
        fields |= {"roomId": self.room_id} if with_room else {}
        fields |= {"messageType": self.message_type} if self.message_type != "TEXT" else {}
        return fields if self.username is None else fields | {"userId": self.user_id, "username": self.username}


def single_frame(event: ChatEvent, request_id: str) -> str:
    """A ``sendMessage`` frame."""
    return f'{{"action":"sendMessage","requestId":"{request_id}",{event.fields()}}}'


def batch_frame(events: Iterable[ChatEvent], request_id: str) -> str:
    """A ``sendBatch`` frame; at most 100 events."""
    joined = "},{".join(event.fields() for event in events)
    return f'{{"action":"sendBatch","requestId":"{request_id}","events":[{{{joined}}}]}}'


def batches(events: Sequence[ChatEvent], size: int = FRAME_EVENTS) -> Iterable[Sequence[ChatEvent]]:
    """Split ``events`` in order so that each part fits a frame: at most ``size`` events and 30,000 bytes."""
    start = used = 0
    for index, event in enumerate(events):
        cost = len(event.fields().encode()) + 3
        if index > start and (index - start >= size or used + cost > FRAME_BYTES):
            yield events[start:index]
            start, used = index, 0
        used += cost
    if start < len(events):
        yield events[start:]


def iso(moment: datetime) -> str:
    """``moment`` (UTC) with six digits, so that times sort as text."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}Z"


def parse_iso(text: str) -> datetime:
    """The inverse of :func:`iso`."""
    return datetime.fromisoformat(text[:-1] + "+00:00")


def after(timestamp: str) -> str:
    """The next microsecond: the exclusive end of a window that contains ``timestamp``."""
    return iso(parse_iso(timestamp) + MICROSECOND)


def uuid7(moment: datetime, randomness: int) -> str:
    """A UUIDv7 for ``moment`` with the 74 bits of ``randomness``; the same arguments give the same id."""
    millis = (moment - EPOCH) // timedelta(milliseconds=1)
    low = randomness & ((1 << 62) - 1)
    value = (millis << 80) | (7 << 76) | (((randomness >> 62) & 0xFFF) << 64) | (2 << 62) | low
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
