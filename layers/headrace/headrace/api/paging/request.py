"""Parameters of a request for a page: its place, its length and its times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from headrace.api.params import Params
from headrace.core import times
from headrace.core.fields import Cursor, Key, Number, Time, named, whole_number

if TYPE_CHECKING:
    # Functions that read no pages load no cryptography for cursors.
    from headrace.api.paging.cursors import CursorSigner, Query

DEFAULT_LIMIT = 20
LIMIT = 200
PAGE_BYTES = 3 * 1024 * 1024
"""The longest items of a page, in UTF-8. Lambda allows 6 MB for an answer, and encodes it as JSON once more."""

PLACES = ("before", "after", "around")
_ONE_PLACE = "one parameter for the place, and cursor without from and to"
CURSOR_FORM = "next or previous of an earlier page; it has the times and the direction of its query"


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PydanticCustomError("no_text", "is neither a text nor a whole number", {"allowed": "a text"})
    return str(value) if isinstance(value, str) or abs(value) < 10**18 else "-"


def refuse_beside(model: type[Params], value: object, info: ValidationInfo, names: Iterable[str], allowed: str) -> None:
    """Refuse a parameter that is given beside one of the fields ``names``, in a validator of ``model``."""
    other = next((name for name in names if info.data.get(name) is not None), None)
    if value is not None and other is not None:
        message = f"cannot be combined with {model.model_fields[other].alias}"
        raise PydanticCustomError("place", message, {"allowed": allowed, "got": None})


_Text = BeforeValidator(_text)
Place = Annotated[str, _Text, named("CursorOrKey", "A cursor, or the key of an item")]


class ListRequest(Params):
    """A page of a list that is read in one direction: ``limit`` entries after the cursor ``place`` or ``cursor``."""

    limit: Number = whole_number(1, LIMIT, default=DEFAULT_LIMIT)
    place: Cursor | None = Field(default=None, alias="after", description="a cursor from an earlier page")
    cursor: Cursor | None = Field(default=None, description=CURSOR_FORM)

    @field_validator("cursor")
    @classmethod
    def _is_alone(cls, value: str | None, info: ValidationInfo) -> str | None:
        refuse_beside(cls, value, info, ["place"], _ONE_PLACE)
        return value

    @property
    def position(self) -> tuple[str, str] | None:
        """The name of the parameter with a cursor, and the cursor."""
        name, given = ("cursor", self.cursor) if self.cursor is not None else ("place", self.place)
        return None if given is None else (str(type(self).model_fields[name].alias), given)

    def after(self, cursors: CursorSigner, query: Query) -> str | None:
        """The id to continue after, in a list of ``query`` in the order of ids. Raises InvalidCursor."""
        if self.position is None:
            return None
        field, cursor = self.position
        (last,) = cursors.verify(cursor, query, field, parts=1, directions=("after",))
        return last


class PageRequest(Params):
    """A page of a history.

    ``start`` (inclusive) and ``end`` (exclusive) are canonical times. At most one of ``before``, ``after`` and
    ``around`` is set, to a cursor or a message key. ``cursor`` is set alone: it has the times and the direction of its
    query. The items of a page have at most ``max_bytes`` of UTF-8, unless a single item is longer. A page that is cut
    by this limit says that there is more.
    """

    limit: Number = whole_number(1, LIMIT, default=DEFAULT_LIMIT)
    before: Place | None = Field(default=None, description="a cursor or a message key")
    after: Place | None = Field(default=None, description="a cursor or a message key")
    around: Annotated[Key, _Text] | None = Field(default=None, description="a message key")
    start: Time | None = Field(default=None, alias="from", description=times.ACCEPTED_FORM)
    end: Time | None = Field(default=None, alias="to", description=times.ACCEPTED_FORM)
    cursor: Annotated[Cursor, _Text] | None = Field(default=None, description=CURSOR_FORM)

    max_bytes: int = Field(default=PAGE_BYTES, exclude=True)

    @field_validator("after", "around")
    @classmethod
    def _is_alone(cls, value: str | None, info: ValidationInfo) -> str | None:
        refuse_beside(cls, value, info, PLACES, "one of before, after and around")
        return value

    @field_validator("end")
    @classmethod
    def _follows_its_start(cls, value: str | None, info: ValidationInfo) -> str | None:
        start = info.data.get("start")
        if value is not None and start is not None and start > value:
            raise PydanticCustomError("order", "is before from", {"allowed": "a time not before from"})
        return value

    @field_validator("cursor")
    @classmethod
    def _has_its_query(cls, value: str | None, info: ValidationInfo) -> str | None:
        refuse_beside(cls, value, info, ("start", "end", *PLACES), _ONE_PLACE)
        return value

    def resolved(self, cursors: CursorSigner, query: Query) -> PageRequest:
        """This request with the place and the times that are in its ``cursor``, if it has one.

        Raises:
            InvalidCursor: the cursor belongs to another list or caller.
        """
        if self.cursor is None:
            return self
        direction, start, end = cursors.opened(self.cursor, query)
        return self.model_copy(update={direction: self.cursor, "start": start, "end": end, "cursor": None})
