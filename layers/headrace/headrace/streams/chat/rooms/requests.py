"""Models of the routes of rooms and members: paths, queries, bodies and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from headrace.api.paging.request import ListRequest
from headrace.api.params import Params, UserPath, names_of
from headrace.api.router import Request
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE
from headrace.core.errors import FieldError, Forbidden, InvalidRequest, echo
from headrace.core.fields import (
    NAME_FORM,
    CanonicalTime,
    Cursor,
    Id,
    Name,
    NewId,
    Number,
    Time,
    accepts,
    seen,
    seen_form,
    whole_number,
)
from headrace.core.times import AHEAD_LIMIT
from headrace.streams.chat.message_row import KEY_FORM, MessageKey
from headrace.streams.chat.rooms.memberships import EVENT_ID_LIMIT, Role
from headrace.streams.chat.rooms.retention import MOST_DAYS
from headrace.streams.chat.rooms.rooms import DIRECT, GROUP, OPEN, Form, RoomKind
from headrace.streams.chat.stream import ReadTo

NAME_LIMIT = 128
TOPIC_LIMIT = 256
EVENT_ID_FORM = f"1 to {EVENT_ID_LIMIT} printable ASCII characters without '#', '/' and '?', and not '.' or '..'"
_TIME = f"{times.ACCEPTED_FORM}; at most 5 minutes ahead"


def _event_id(value: str) -> str:
    if not value.isascii() or len(value) > EVENT_ID_LIMIT:
        raise PydanticCustomError("event_id", "is not a usable id")
    return value


EventId = Annotated[
    NewId,
    AfterValidator(_event_id),
    accepts(minLength=1, maxLength=EVENT_ID_LIMIT, pattern=r'^(?!\.{1,2}$)[ !"$-.0->@-~]+$'),
]


class RoomPath(Params):
    """A room."""

    refusal = "{field} is not a usable id"

    room_id: Id = Field(description=keys.ID_FORM)


class MessagePath(RoomPath):
    """A message of a room."""

    refusal = "{field} {message}"

    key: MessageKey = Field(description=KEY_FORM)


class MemberPath(RoomPath, UserPath):
    """A user in a room."""


class OtherPath(UserPath):
    """Two users. The first is the caller; with events:write, it may be any user."""

    other_id: Id = Field(description=keys.ID_FORM)


ROOM_NAME_FORM, TOPIC_FORM = seen_form(NAME_LIMIT), seen_form(TOPIC_LIMIT)
RoomName = Annotated[str, *seen(NAME_LIMIT)]
RoomTopic = Annotated[str, *seen(TOPIC_LIMIT)]
RetentionDays = Annotated[int, whole_number(1, MOST_DAYS)]
RETENTION_FORM = f"a whole number from 1 to {MOST_DAYS}, and at most the days that the stage keeps messages"


class _Body(Params):
    """Base of the bodies."""

    unknown = "is not a field of this route"


class RoomRequest(_Body):
    """A room to create."""

    kind: RoomKind = Field(description="open or members")
    form: Form = Field(default=GROUP, description="direct or group")
    name: RoomName | None = Field(default=None, description=ROOM_NAME_FORM)
    topic: RoomTopic | None = Field(default=None, description=TOPIC_FORM)
    retention_days: RetentionDays | None = Field(default=None, description=RETENTION_FORM)
    created_at: Time | None = Field(default=None, description=_TIME)
    created_by: Id | None = Field(default=None, description=keys.ID_FORM)
    username: Name | None = Field(default=None, description=NAME_FORM)


class RoomChange(_Body):
    """A new name, topic or retention; ``null`` removes it, and a field that is left out stays."""

    keeps_null = True

    name: RoomName | None = Field(default=None, description=f"{ROOM_NAME_FORM}; or null")
    topic: RoomTopic | None = Field(default=None, description=f"{TOPIC_FORM}; or null")
    retention_days: RetentionDays | None = Field(default=None, description=f"{RETENTION_FORM}; or null")


class JoinRequest(_Body):
    """How a user joins; every field is optional."""

    is_optional = True

    role: Role | None = Field(default=None, description="owner or member")
    at: Time | None = Field(default=None, alias="joinedAt", description=_TIME)
    id: EventId | None = Field(default=None, description=EVENT_ID_FORM)
    username: Name | None = Field(default=None, description=NAME_FORM)


class LeaveRequest(_Body):
    """How a user leaves; every field is optional."""

    is_optional = True

    at: Time | None = Field(default=None, alias="leftAt", description=_TIME)
    id: EventId | None = Field(default=None, description=EVENT_ID_FORM)
    username: Name | None = Field(default=None, description=NAME_FORM)
    for_good: bool = Field(default=False, description="true or false")


class ListQuery(ListRequest):
    """A page of a list in the order of ids."""

    limit: Number = whole_number(1, 100, default=50)


class RoomBody(TypedDict):
    """A room. It keeps messages for ``retentionDays`` from their own time; ``null``: as long as the stage."""

    roomId: str
    kind: RoomKind
    form: Form
    name: str | None
    topic: str | None
    retentionDays: int | None
    createdAt: CanonicalTime
    createdBy: str


class MembershipState(TypedDict):
    """``in`` since the user joined, or ``left`` since the user left."""

    state: Literal["in", "left"]
    since: CanonicalTime


class OwnMembership(MembershipState):
    """The caller is ``in`` the room since then, or has ``left`` it."""

    role: Role


class InvitationBody(TypedDict):
    """An open invitation to a room, who made it, and the role that comes with accepting it."""

    invitedBy: str
    invitedAt: CanonicalTime
    role: Role


class RoomDetails(RoomBody):
    """A room, and the caller's membership and invitation.

    ``membership`` is ``null`` if the caller was never in it, ``invitation`` if none is open.
    """

    membership: OwnMembership | None
    invitation: InvitationBody | None


class MemberBody(TypedDict):
    """A membership; ``leftAt`` is null while the user is in the room.

    With ``invitedAt``, the user is invited and not in the room.
    """

    roomId: str
    userId: str
    username: str
    role: Role
    joinedAt: CanonicalTime | None
    leftAt: CanonicalTime | None
    invitedAt: CanonicalTime | None


class MemberItem(TypedDict):
    """A user who is in the room now. Without ``readTo``, the room does not show how far its members have read."""

    userId: str
    username: str
    role: Role
    joinedAt: CanonicalTime
    readTo: NotRequired[ReadTo | None]


class MemberPage(TypedDict):
    """A page of members, in the order of their user ids. Send ``next`` as ``after`` for the next page."""

    items: list[MemberItem]
    next: Cursor | None
    hasMore: bool


_TRUSTED = ("createdAt", "createdBy", "joinedAt", "leftAt", "id", "username")
"""Fields that need events:write. For other callers, the user is the token's and the time is the server's."""


def check(request: Request[Any, Any, Any]) -> None:
    """Check the rules about a body, its caller and its path that the model does not express.

    Raises:
        InvalidRequest: names every wrong field, its value and what is allowed.
        Forbidden: names every field that needs events:write.
    """
    body, content, now = request.body, request.content, request.now
    if not request.caller.has(EVENTS_WRITE):
        _refuse_trusted(type(body), content)
    at = body.created_at if isinstance(body, RoomRequest) else body.at
    wrong = []
    if at is not None and at > times.iso(now + AHEAD_LIMIT):
        name = next(name for name in ("createdAt", "joinedAt", "leftAt") if name in content)
        wrong.append(FieldError(name, "is too far ahead", at, f"{_TIME}; the server's time is {times.iso(now)}"))
    if isinstance(body, RoomRequest):
        if keys.is_reserved_room(request.path.room_id):
            allowed = f"an id without {keys.DIRECT_PREFIX} before it; PUT /users/{{userId}}/direct/{{otherId}}"
            wrong.append(FieldError("roomId", "is reserved for direct rooms", echo(request.path.room_id), allowed))
        if body.form == DIRECT and body.kind == OPEN:
            wrong.append(FieldError("form", "does not fit kind open", DIRECT, "group, or kind members"))
    elif body.id is not None and body.at is None:
        wrong.append(FieldError("id", "needs a time beside it", body.id, "joinedAt or leftAt in the same body"))
    if wrong:
        raise InvalidRequest(details=wrong)


def _refuse_trusted(model: type[Params], content: Mapping[str, Any]) -> None:
    details = [
        FieldError(
            name, "needs the scope events:write", echo(content[name]), "left out: the token and the server's clock"
        )
        for name in _TRUSTED
        if name in names_of(model)[0] and content.get(name) is not None
    ]
    if details:
        raise Forbidden(details=details)
