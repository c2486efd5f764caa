"""Builds and parses frames with new messages, ``{"type": "messages", "roomId", "position", "items"}``.

Live copies on the broker are such frames too. Positions are those of :mod:`headrace.streams.chat.messages.positions`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.collections import groups
from headrace.core.json import encode, encode_object, encoded_list

FRAME_BYTES = 32 * 1024
"""The longest frame that API Gateway sends in one piece, and bills as one message."""


@dataclass(slots=True)
class LiveCopy:
    """What is new in a room: its items by key, the latest position, and whether earlier messages are missing.

    ``position`` is "" in a frame of older code.
    """

    room_id: str
    items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    position: str = ""
    missed: bool = False

    def add(self, later: LiveCopy) -> None:
        """Add what came after this."""
        self.items.update(later.items)
        self.position = max(self.position, later.position)
        self.missed = self.missed or later.missed

    def keep(self, number: int) -> None:
        """Keep the newest items; the subscribers miss older ones."""
        while len(self.items) > number:
            del self.items[next(iter(self.items))]
            self.missed = True


def frames(
    room_id: str,
    items: Iterable[Mapping[str, Any]],
    position: str = "",
    *,
    missed: bool = False,
    is_expiring: bool = False,
) -> list[bytes]:
    """``items``, as in histories, in as few frames as possible of at most 32 KB, in order.

    ``missed`` marks the first frame: the subscriber did not get all earlier messages. It is marked too if an item is
    too long for a frame and left out, because only history has that item. With ``is_expiring``, all frames say that the
    connection's token expires soon.
    """
    head: dict[str, Any] = {"type": "messages", "roomId": room_id}
    if position:
        head["position"] = position
    if is_expiring:
        head["tokenExpiring"] = True
    room = FRAME_BYTES - len(_frame(head, [], missed=True)) + len(",")
    sized = [(part, len(part.encode()) + len(",")) for part in map(encode, items)]
    fitting = [each for each in sized if each[1] <= room]
    missed = missed or len(fitting) < len(sized)
    parts = groups(fitting, len(fitting), room) or ([[]] if missed else [])
    return [_frame(head, each, missed=missed and at == 0) for at, each in enumerate(parts)]


def _frame(head: Mapping[str, Any], parts: Sequence[str], *, missed: bool) -> bytes:
    mark = {"missed": True} if missed else {}
    return encode_object({**head, **mark, "items": encoded_list(parts)}).encode()


def parse(body: bytes) -> LiveCopy:
    """The content of a frame.

    Raises:
        ValueError: not a frame of messages.
    """
    try:
        content = json.loads(body)
        items = {item["key"]: item for item in content["items"]}
        found = LiveCopy(content["roomId"], items, content.get("position", ""), content.get("missed") is True)
        texts = [found.room_id, found.position, *items, *(item["timestamp"] for item in items.values())]
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a frame of messages") from error
    if not isinstance(content["items"], list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("not a frame of messages")
    return found
