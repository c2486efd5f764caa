"""Builds frames with new messages, ``{"type": "messages", "roomId", "position", "follows", "items"}``.

Frames of a user's channel are ``{"type": "changes", "userId", …}``, those of a declared stream's key
``{"type": "events", "stream", "key", …}``. Live copies on the broker are such frames too.
Positions are those of :mod:`headrace.streams.chat.messages.positions`.
``follows`` is the tag of the frame before: a client whose position has this tag has all messages up to ``position``.
``through`` are tags in between, of frames that were joined: a client at one of these has all messages up to it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.core.collections import groups
from headrace.core.json import encode, encode_object, encoded_list
from headrace.core.keys import channel_stream, channel_user

FRAME_BYTES = 32 * 1024
"""The longest frame that API Gateway sends in one piece, and bills as one message."""

PASSED = 20
"""Tags that a frame has in ``through``, at most: the newest ones."""


def split(room_id: str, items: Iterable[Mapping[str, Any]]) -> tuple[list[list[str]], bool]:
    """``items`` as JSON, in the parts that fit into one frame each; false if one is too long and left out."""
    longest = frame(room_id, [], "p" * 30, ["t" * 12] * (PASSED + 1), missed=True, is_expiring=True)
    room = FRAME_BYTES - len(longest) + len(",")
    sized = [(part, len(part.encode()) + len(",")) for part in map(encode, items)]
    fitting = [each for each in sized if each[1] <= room]
    return groups(fitting, len(fitting), room), len(fitting) == len(sized)


def frame(
    room_id: str,
    items: Sequence[str],
    position: str = "",
    follows: Sequence[str] = (),
    *,
    missed: bool = False,
    is_expiring: bool = False,
    mark: str = "",
) -> bytes:
    """One frame with ``items``, which are JSON already. A live copy also has the ``mark`` of the room.

    ``follows`` are the tag of the frame before, and those that it goes ``through``; empty: that is unknown.
    """
    content = _head(room_id)
    if position:
        content["position"] = position
    if follows:
        content["follows"] = follows[0]
    if len(follows) > 1:
        content["through"] = list(follows[1:][-PASSED:])
    if is_expiring:
        content["tokenExpiring"] = True
    if missed:
        content["missed"] = True
    if mark:
        content["mark"] = mark
    return encode_object({**content, "items": encoded_list(items)}).encode()


def _head(room_id: str) -> dict[str, Any]:
    if (user_id := channel_user(room_id)) is not None:
        return {"type": "changes", "userId": user_id}
    if (followed := channel_stream(room_id)) is not None:
        return {"type": "events", "stream": followed[0], "key": followed[1]}
    return {"type": "messages", "roomId": room_id}
