"""Live copies: parses them, joins them, and makes the frames of subscribers from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.keys import SEPARATOR, stream_channel, user_channel
from headrace.live.frames import frame, split

Link = tuple[tuple[str, ...], str]
"""The tags of frames, each of which follows the one before, and the position of the frame that follows the last."""


@dataclass(slots=True)
class LiveCopy:
    """What is new in a room: its items by key, the latest position, and whether earlier messages are missing.

    ``position`` is "" in a notice that messages are missing. ``links`` has the position of each frame by the tag that
    it follows. ``marks`` are the marks of the room when its messages were stored; "" without a tag.
    """

    room_id: str
    items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    position: str = ""
    missed: bool = False
    links: dict[str, str] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)

    def add(self, later: LiveCopy) -> None:
        """Add what came after this."""
        self.items.update(later.items)
        self.position = max(self.position, later.position)
        self.missed = self.missed or later.missed
        self.links.update(later.links)
        self.marks |= later.marks

    @property
    def mark(self) -> str:
        """The mark of all messages; "" if they differ."""
        return "".join(self.marks) if len(self.marks) == 1 else ""

    def keep(self, number: int) -> None:
        """Keep the newest items; the subscribers miss older ones, and cannot follow over them."""
        while len(self.items) > number:
            del self.items[next(iter(self.items))]
            self.missed = True
            self.links.clear()

    def chains(self) -> list[Link]:
        """The links, with those that continue each other as one. There are several where a frame is missing."""
        links, found = dict(self.links), list[Link]()
        continued = {_tag(position) for position in links.values()}
        for first in [tag for tag in links if tag not in continued]:
            tags, tag = [first], first
            while tag in links:
                position = links.pop(tag)
                tag = _tag(position)
                tags.append(tag)
            found.append((tuple(tags[:-1]), position))
        return found


def frames(
    room_id: str,
    items: Iterable[Mapping[str, Any]],
    position: str = "",
    *,
    links: Sequence[Link] = (),
    missed: bool = False,
    is_expiring: bool = False,
) -> list[bytes]:
    """``items``, as in histories, in as few frames as possible of at most 32 KB, in order.

    ``missed`` marks the last frame: the subscriber did not get all earlier messages. It is marked too, and follows
    nothing, if an item is too long for a frame and left out, because only history has that item. With ``is_expiring``,
    all frames say that the connection's token expires soon. The last frame with items has the first of ``links``; each
    other link has its own frame. So a client that has all earlier frames finds that nothing is missing, as after a push
    that timed out and arrived.
    """
    parts, is_complete = split(room_id, items)
    missed, links = missed or not is_complete, links if is_complete else ()
    if not parts and (missed or links):
        parts = [[]]
    heads: list[tuple[str, tuple[str, ...]]] = [(position, ())] * (len(parts) - 1)
    heads += [(at, follows) for follows, at in links] or [(position, ())]
    parts += [[]] * (len(links) - 1)
    return [
        frame(room_id, part, *head, missed=missed and number == len(parts) - 1, is_expiring=is_expiring)
        for number, (part, head) in enumerate(zip(parts, heads, strict=False))
    ]


def parse(body: bytes) -> LiveCopy:
    """The content of a frame.

    Raises:
        ValueError: not a frame of messages.
    """
    try:
        content = json.loads(body)
        items = {item["key"]: item for item in content["items"]}
        position, follows, mark = (content.get(name, "") for name in ("position", "follows", "mark"))
        found = LiveCopy(_room_of(content), items, position, content.get("missed") is True)
        texts = [found.room_id, position, follows, mark, *items, *(item["timestamp"] for item in items.values())]
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a frame of messages") from error
    if not isinstance(content["items"], list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("not a frame of messages")
    found.marks.add(mark)
    if "follows" in content:
        found.links[follows] = position
    return found


def _room_of(content: Mapping[str, Any]) -> Any:
    """The room that :func:`headrace.live.frames.frame` was called with."""
    if content.get("type") == "changes":
        return user_channel(content["userId"])
    if content.get("type") == "events":
        return stream_channel(f"{content['stream']}{SEPARATOR}{content['key']}")
    return content["roomId"]


def _tag(position: str) -> str:
    return position.partition("-")[2]
