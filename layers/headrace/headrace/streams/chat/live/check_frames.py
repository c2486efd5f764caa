"""The frames that check and resume, and their answers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NotRequired

from pydantic import Field, PlainValidator
from typing_extensions import TypedDict

from headrace.api.params import Params
from headrace.core.errors import FieldError, InvalidRequest
from headrace.core.fields import CanonicalTime, Cursor, StoredId
from headrace.streams.chat.live.frames import Answer
from headrace.streams.chat.messages.history import checked_position
from headrace.streams.chat.messages.positions import POSITION_FORM, Position
from headrace.streams.chat.rooms.channels import Change
from headrace.streams.chat.stream import POSITION, MessageItem, PositionText

ROOMS_PER_FRAME = 20

TaggedPosition = Annotated[Position, PlainValidator(checked_position), POSITION]


class ResumeFrame(Params):
    """Rooms that the connection follows, each with the position up to which the client has all."""

    unknown = "is not a field of this action"

    rooms: dict[StoredId, TaggedPosition] = Field(
        default={},
        max_length=ROOMS_PER_FRAME,
        description=f"up to {ROOMS_PER_FRAME} room ids, each with {POSITION_FORM}",
    )

    needed: ClassVar = f"1 to {ROOMS_PER_FRAME} rooms"

    @property
    def followed(self) -> dict[str, dict[str, str]]:
        """The names in each field of the frame and its answer, and for each what the connection follows."""
        return {"rooms": {room_id: room_id for room_id in self.rooms}}

    @property
    def positions(self) -> dict[str, Position]:
        """The position of all that the connection follows. Raises InvalidRequest if there is none."""
        fields = self.followed.items()
        if not (found := {each: getattr(self, field)[name] for field, names in fields for name, each in names.items()}):
            raise InvalidRequest(details=[FieldError("rooms", "is missing", None, self.needed)])
        return found


class CheckFrame(ResumeFrame):
    """Rooms to ask for."""

    subscribe: bool = Field(default=True, description="false: only ask, and subscribe to none of the rooms")


class RoomCheck(TypedDict):
    """Whether something may have been stored since the position that was sent, and the position of this answer."""

    hasNew: bool
    position: PositionText


class RoomError(TypedDict):
    """Why there is no answer for one room, or for the user."""

    error: dict[str, Any]


class Checked(Answer, TypedDict):
    """Each room with ``hasNew`` and ``position``, or with its ``error``. ``tokenExpiresAt`` is that of `pong`.

    With ``hasNew``, messages may have been stored since the position that you sent: read the history since it.
    Otherwise, keep the new ``position``. ``users`` is there if the frame had it; with ``hasNew``, `resume` has what
    changed.
    """

    type: Literal["checked"]
    rooms: dict[str, RoomCheck | RoomError]
    users: NotRequired[dict[str, RoomCheck | RoomError]]
    tokenExpiresAt: CanonicalTime


class Resumption(TypedDict):
    """What was stored in a room since the position that was sent, in any order, and the position to continue from.

    With ``hasMore`` and ``next``, read the history since the position that you sent, ``before`` this ``next``. With
    ``hasMore`` alone, resume again from the new position.
    """

    items: list[MessageItem]
    next: Cursor | None
    hasMore: bool
    position: PositionText


class UserResumption(TypedDict):
    """What changed for the user since the position that was sent, and the position to continue from.

    With ``missed``, it may not be all, such as after more than two minutes: read your rooms and invitations again. With
    ``hasMore``, resume again from the new position.
    """

    items: list[Change]
    missed: bool
    hasMore: bool
    position: PositionText


class Resumed(Answer, TypedDict):
    """Each room with what was missed, or with its ``error``; the connection is subscribed to the others.

    All rooms together have at most 112 KB of items. ``users`` is there if the frame had it. ``tokenExpiresAt`` is that
    of `pong`.
    """

    type: Literal["resumed"]
    rooms: dict[str, Resumption | RoomError]
    users: NotRequired[dict[str, UserResumption | RoomError]]
    tokenExpiresAt: CanonicalTime
