"""The frames that follow a user: the user's fields beside those of rooms."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from headrace.api.router import Route
from headrace.core.caller import CHAT_READ
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.core.fields import StoredId
from headrace.core.keys import STORED_ID_FORM, user_channel
from headrace.streams.chat.live.check_frames import Checked, CheckFrame, Resumed, ResumeFrame, TaggedPosition
from headrace.streams.chat.live.checks import check, resume
from headrace.streams.chat.live.subscriptions import RoomFrame, Subscribed, Unsubscribed, subscribe, unsubscribe
from headrace.streams.chat.messages.positions import POSITION_FORM


class FollowFrame(RoomFrame):
    """A frame about a room, or about the channel of the caller's user."""

    room_id: StoredId | None = Field(default=None, description=STORED_ID_FORM)  # type: ignore[assignment]
    user_id: StoredId | None = Field(default=None, description="your own user id; in place of roomId")

    @property
    def followed(self) -> tuple[str, dict[str, str]]:
        """The room, or the channel of the user. Raises InvalidRequest."""
        if self.user_id is None and self.room_id is not None:
            return super().followed
        if self.user_id is not None and self.room_id is None:
            return user_channel(self.user_id), {"userId": self.user_id}
        problem = "is missing" if self.room_id is None else "goes without userId"
        raise InvalidRequest(details=[FieldError("roomId", problem, echo(self.room_id), "a roomId or a userId")])


class FollowedFrame(ResumeFrame):
    """Rooms that the connection follows, and the caller's user. One of both is needed."""

    users: dict[StoredId, TaggedPosition] = Field(
        default={}, max_length=1, description=f"your own user id, with {POSITION_FORM}"
    )

    needed: ClassVar = f"{ResumeFrame.needed}, or users"

    @property
    def followed(self) -> dict[str, dict[str, str]]:
        """The rooms, and the channel of the user."""
        users = {user_id: user_channel(user_id) for user_id in self.users}
        return super().followed | ({"users": users} if users else {})


class CheckedFrame(CheckFrame, FollowedFrame):
    """Rooms to ask for, and the caller's user."""


ROUTES = {
    "read_frame": {
        "subscribe": Route(subscribe, (CHAT_READ,), body=FollowFrame, answer=Subscribed),
        "check": Route(check, (CHAT_READ,), body=CheckedFrame, answer=Checked),
        "resume": Route(resume, (CHAT_READ,), body=FollowedFrame, answer=Resumed),
        "unsubscribe": Route(unsubscribe, (CHAT_READ,), body=FollowFrame, answer=Unsubscribed),
    }
}
