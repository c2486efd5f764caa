"""Users' channels: what has changed in a user's rooms is pushed to the connections that follow the user."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from headrace.core.fields import CanonicalTime, named
from headrace.streams.chat.stream import ReadTo

Changed = Annotated[
    Literal["membership", "invitation", "room", "readMark"], named("Changed", "What has changed for the user in a room")
]


class Change(TypedDict):
    """What has changed for the user in a room. ``key`` is another one for each change.

    ``membership``: the user joined, was added, left or was removed, or the role changed. ``invitation``: one came,
    changed or ended. ``room``: its name, topic or retention, or it was deleted. After these, read the room:
    `GET /rooms/{roomId}` has all of it, answers 403 to a user who is neither a member nor invited, and 404 if it was
    deleted. ``readMark``: the messages up to ``readTo``
    are read; of several, the greatest counts, compared as texts with a ``$`` behind them.
    """

    key: str
    changed: Changed
    roomId: str
    timestamp: CanonicalTime
    readTo: NotRequired[ReadTo]


class Channels:
    """The channels of a stage without any: nobody follows them."""

    def publish(self, user_ids: Collection[str], changed: Changed, room_id: str, *, read_to: str | None = None) -> None:
        """Publish to each of the users that this has changed in a room. Call it after the change is stored.

        It says what to read again, so it may come late, twice and in any order. ``read_to`` is the new read mark. Never
        raises: a failure is logged, and the change is in force.
        """
