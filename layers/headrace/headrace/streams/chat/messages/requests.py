"""Models of the routes of messages."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from headrace.api.paging.request import PageRequest, refuse_beside
from headrace.core.fields import accepts
from headrace.streams.chat.messages import positions


def _since(value: object) -> int:
    try:
        return positions.parse_position(str(value))
    except ValueError:
        raise PydanticCustomError("position", "is not a position", {"allowed": positions.POSITION_FORM}) from None


Position = Annotated[int, BeforeValidator(_since), accepts(type="string", pattern="^p[0-9]{16}$")]
"""The time of a position, in microseconds."""


class RoomPageRequest(PageRequest):
    """A page of a room. With ``since``, it has the messages that were stored after that position, in microseconds."""

    since: Position | None = Field(default=None, description=positions.POSITION_FORM)

    @field_validator("since")
    @classmethod
    def _is_without_other_bounds(cls, value: int | None, info: ValidationInfo) -> int | None:
        others = ("after", "around", "start", "end", "cursor")
        refuse_beside(cls, value, info, others, "since alone, or with limit and before")
        return value
