"""Builds and parses frames with new messages, ``{"type": "messages", "roomId", "position", "items"}``.

Live copies on the broker are such frames too. Positions are those of :mod:`headrace.streams.chat.messages.positions`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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

    ``missed`` marks the first frame: the subscriber did not get all earlier messages. An item that is too long for a
    frame is left out, and the next frame is marked, because only history has the item. With ``is_expiring``, all frames
    say that the connection's token expires soon.
    """
    head: dict[str, Any] = {"type": "messages", "roomId": room_id}
    if position:
        head["position"] = position
    if is_expiring:
        head["tokenExpiring"] = True
    room = FRAME_BYTES - len(_frame(head, [], missed=True))
    made: list[bytes] = []
    parts: list[str] = []
    size = 0
    for item in items:
        part = encode(item)
        length = len(part.encode())
        if length > room:
            missed = True
            continue
        if parts and size + 1 + length > room:
            made.append(_frame(head, parts, missed=missed))
            parts, missed = [], False
        size = size + 1 + length if parts else length
        parts.append(part)
    return [*made, _frame(head, parts, missed=missed)] if parts or missed else made


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
        room_id, items = content["roomId"], content["items"]
        position, missed = content.get("position", ""), content.get("missed", False)
        texts = isinstance(room_id, str) and isinstance(position, str)
        if not texts or not isinstance(items, list) or not all(map(_is_item, items)):
            raise ValueError("not a frame of messages")
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a frame of messages") from error
    return LiveCopy(room_id, {item["key"]: item for item in items}, position, missed is True)


def _is_item(item: object) -> bool:
    return isinstance(item, dict) and all(isinstance(item.get(name), str) for name in ("key", "timestamp"))
