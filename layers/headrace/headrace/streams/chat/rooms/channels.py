"""The port to users' channels: what has changed in a user's rooms is pushed to the connections that follow the user."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal, Protocol

from headrace.core.fields import named

Changed = Annotated[
    Literal["membership", "invitation", "room", "readMark"], named("Changed", "What has changed for the user in a room")
]


class Channels(Protocol):
    """Publishes to users what has changed."""

    def publish(self, user_ids: Collection[str], changed: Changed, room_id: str, *, read_to: str | None = None) -> None:
        """Publish to each of the users that this has changed in a room. Call it after the change is stored.

        It says what to read again, so it may come late, twice and in any order. ``read_to`` is the new read mark. Never
        raises: a failure is logged, and the change is in force.
        """

    def restart(self, room_id: str) -> None:
        """Begin the log of a room again, because readers may see less of it. Never raises."""
