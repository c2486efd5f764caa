"""What requests about rooms and members ask for, validated: every wrong field is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import FieldError, Forbidden, InvalidRequest, echo
from headrace.core.fields import EventModel, Id, Time
from headrace.core.sender import AHEAD_LIMIT
from headrace.core.validation import field_errors
from headrace.streams.chat.memberships import EVENT_ID_LIMIT, Role
from headrace.streams.chat.rooms import DIRECT, GROUP, OPEN, Form, RoomKind

EVENT_ID_FORM = f"1 to {EVENT_ID_LIMIT} printable ASCII characters without '#'"
_TIME = f"{times.ACCEPTED_FORM}; at most 5 minutes ahead"


def _event_id(value: str) -> str:
    if not (value.isascii() and value.isprintable() and 0 < len(value) <= EVENT_ID_LIMIT) or keys.SEPARATOR in value:
        raise PydanticCustomError("event_id", "is not a usable id")
    return value


EventId = Annotated[str, AfterValidator(_event_id)]


class RoomRequest(EventModel):
    """The body of a PUT of a room."""

    kind: RoomKind = Field(description="open or members")
    form: Form = Field(default=GROUP, description="direct or group")
    created_at: Time | None = Field(default=None, description=_TIME)
    created_by: Id | None = Field(default=None, description=keys.ID_FORM)
    username: Id | None = Field(default=None, description=keys.ID_FORM)


class JoinRequest(EventModel):
    """The body of a PUT of a member; all of it is optional."""

    role: Role | None = Field(default=None, description="owner or member")
    at: Time | None = Field(default=None, alias="joinedAt", description=_TIME)
    id: EventId | None = Field(default=None, description=EVENT_ID_FORM)
    username: Id | None = Field(default=None, description=keys.ID_FORM)


class LeaveRequest(EventModel):
    """The body of a DELETE of a member; all of it is optional."""

    role: Literal[None] = None
    at: Time | None = Field(default=None, alias="leftAt", description=_TIME)
    id: EventId | None = Field(default=None, description=EVENT_ID_FORM)
    username: Id | None = Field(default=None, description=keys.ID_FORM)


Request = TypeVar("Request", RoomRequest, JoinRequest, LeaveRequest)

_TRUSTED = ("createdAt", "createdBy", "joinedAt", "leftAt", "id", "username")
"""Fields that only a trusted producer may give: who does what is in the token, and when is the server's clock."""


def parse(model: type[Request], body: Mapping[str, Any], caller: Caller, now: int) -> Request:
    """``body`` as a ``model``; ``now`` in microseconds.

    Raises:
        InvalidRequest: names every field that is wrong, what came and what is allowed.
        Forbidden: names every field that needs events:write.
    """
    if not caller.has(EVENTS_WRITE):
        _refuse_trusted(model, body)
    try:
        request = model.model_validate(body)
    except ValidationError as error:
        raise InvalidRequest("the body cannot be used as it stands", details=field_errors(model, error)) from None
    at = request.created_at if isinstance(request, RoomRequest) else request.at
    wrong = []
    if at is not None and at > times.iso(now + AHEAD_LIMIT):
        name = next(name for name in ("createdAt", "joinedAt", "leftAt") if name in body)
        wrong.append(FieldError(name, "is too far ahead", at, f"{_TIME}; the server's time is {times.iso(now)}"))
    if isinstance(request, RoomRequest):
        if request.form == DIRECT and request.kind == OPEN:
            wrong.append(FieldError("form", "does not fit kind open", DIRECT, "group, or kind members"))
    elif request.id is not None and request.at is None:
        wrong.append(FieldError("id", "needs a time beside it", request.id, "joinedAt or leftAt in the same body"))
    if wrong:
        raise InvalidRequest("the body cannot be used as it stands", details=wrong)
    return request


def _refuse_trusted(model: type[Request], body: Mapping[str, Any]) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items()}
    details = [
        FieldError(name, "needs the scope events:write", echo(body[name]), "left out: the token and the server's clock")
        for name in _TRUSTED
        if name in fields and body.get(name) is not None
    ]
    if details:
        raise Forbidden(f"{details[0].field} needs the scope {EVENTS_WRITE}", details=details)
