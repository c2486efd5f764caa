"""Signals: short messages to the subscribers of a room, such as "is typing", which are pushed and never stored.

A signal is on the broker for at most a few seconds. It has no position, and a lost one leaves no mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.core.json import encode


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that ``connection_id`` sent: ``frame`` is what the other subscribers of the room get.

    ``timestamp`` is when it was sent, a canonical time. One of the server has no name, but that of its type.
    """

    room_id: str
    connection_id: str
    name: str
    timestamp: str
    frame: bytes


def to_copy(connection_id: str, frame: Mapping[str, Any]) -> bytes:
    """The body on the broker of a signal that ``connection_id`` sent."""
    return encode({"connectionId": connection_id, "frame": frame}).encode()


def parse(body: bytes) -> Signal:
    """The signal in a body of :func:`to_copy`.

    Raises:
        ValueError: not a signal.
    """
    try:
        content = json.loads(body)
        frame = content["frame"]
        name = frame.get("name", frame["type"])
        texts = (frame["roomId"], content["connectionId"], name, frame["timestamp"])
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a signal") from error
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("not a signal")
    return Signal(*texts, encode(frame).encode())


def latest_by_room(signals: Iterable[Signal]) -> dict[str, list[Signal]]:
    """The signals of each room, in order. Of a connection's signals with one name, only the latest counts."""
    rooms: dict[str, dict[tuple[str, str], Signal]] = {}
    for signal in signals:
        room = rooms.setdefault(signal.room_id, {})
        room.pop((signal.connection_id, signal.name), None)
        room[signal.connection_id, signal.name] = signal
    return {room_id: list(latest.values()) for room_id, latest in rooms.items()}
