"""The log of a room's newest frames: which frame follows which, and what came after a position.

A function that has stored messages of a room appends them to its log, and then publishes them as frames. Each frame has
a tag, and names the tag of the frame before. So a client sees whether a frame is missing between two others, and a
reader with the tag of a position gets exactly what was stored after it. The log has the frames of the last two minutes,
for rooms with subscribers. It is in the cache: where it is lost, the table tells what was stored.

A user's channel has a log too, under its ``user_channel``, with or without subscribers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.core.errors import CacheUnavailable
from headrace.runtime.observability import report
from headrace.streams.chat.messages.positions import new_tag

if TYPE_CHECKING:
    from headrace.streams.chat.messages.redis import RoomLog


@dataclass(frozen=True, slots=True)
class LoggedFrame:
    """A frame: its tag, when its messages were stored (microseconds), and its items as a JSON array."""

    tag: str
    time: int
    items: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What was stored in a room at once: the ``tag`` of its last frame, and all frames.

    Without ``frames``, the log begins again behind this batch, and readers of earlier positions read the table.
    """

    tag: str
    frames: Sequence[LoggedFrame] = ()


@dataclass(frozen=True, slots=True)
class Appended:
    """The tag of the frame before a batch, "" if it is unknown, and the mark whether the room has subscribers."""

    follows: str
    mark: bytes | None


@dataclass(frozen=True, slots=True)
class Since:
    """The ``tag`` of a room's newest frame, and the ``frames`` after another tag; ``None``: they are not known."""

    tag: str
    frames: Sequence[LoggedFrame] | None = field(default=None)


def append(log: RoomLog, batches: Mapping[str, Batch], otherwise: str) -> dict[str, Appended]:
    """Append a batch to each room. If the cache is unavailable, report ``otherwise``; the result is then empty."""
    try:
        return log.append(batches)
    except CacheUnavailable as error:
        report("room logs", f"{otherwise}: {error.message}")
        return {}


def restart(log: RoomLog, room_id: str) -> None:
    """Begin the log of a room again, because readers may see less of it."""
    append(log, {room_id: Batch(new_tag())}, "resume may show older messages for two minutes")


def read_since(log: RoomLog | None, tags: Mapping[str, str], otherwise: str) -> dict[str, Since]:
    """What is known of each room since a tag; nothing without a log. Without the cache, report ``otherwise``."""
    try:
        return {} if log is None else log.since(tags)
    except CacheUnavailable as error:
        report("room logs", f"{otherwise}: {error.message}")
        return {}


def newest_tag(log: RoomLog | None, room_id: str) -> str:
    """The tag of a room's newest frame; "" without a log."""
    return read_since(log, {room_id: ""}, "positions have no tags").get(room_id, Since("")).tag
