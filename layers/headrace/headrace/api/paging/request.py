"""Parameters of a request for a page: its place, its length and its times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from headrace.api.params import Params, QueryTime, whole_number
from headrace.core import times

if TYPE_CHECKING:
    # Functions that read no pages load no cryptography for cursors.
    from headrace.api.paging.cursors import CursorSigner, Query

DEFAULT_LIMIT = 20
LIMIT = 200
PAGE_BYTES = 3 * 1024 * 1024
"""Of a page's items in UTF-8. Lambda's limit is 6 MB for an answer, which is encoded as JSON once more."""

PLACES = ("before", "after", "around")
CURSOR_FORM = "next or previous of an earlier page; it has the times and the direction of its query"


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PydanticCustomError("no_text", "is neither a text nor a whole number", {"allowed": "a text"})
    return str(value) if isinstance(value, str) or abs(value) < 10**18 else "-"


def _refuse_beside(value: str | None, others: Sequence[str]) -> None:
    if value is not None and others:
        allowed = "one parameter for the place, and cursor without from and to"
        raise PydanticCustomError("place", f"cannot be combined with {others[0]}", {"allowed": allowed, "got": None})


Place = Annotated[str, BeforeValidator(_text)]


class ListRequest(Params):
    """A page of a list that is read in one direction: ``limit`` entries after the cursor ``place`` or ``cursor``."""

    limit: int
    place: str | None = None
    cursor: str | None = Field(default=None, description=CURSOR_FORM)

    @field_validator("cursor")
    @classmethod
    def _is_alone(cls, value: str | None, info: ValidationInfo) -> str | None:
        _refuse_beside(value, [str(cls.model_fields["place"].alias)] if info.data.get("place") is not None else [])
        return value

    @property
    def position(self) -> tuple[str, str] | None:
        """The name of the parameter with a cursor, and the cursor."""
        name, given = ("cursor", self.cursor) if self.cursor is not None else ("place", self.place)
        return None if given is None else (str(type(self).model_fields[name].alias), given)


class PageRequest(Params):
    """A page of a history.

    ``start`` (inclusive) and ``end`` (exclusive) are canonical times. At most one of ``before``, ``after`` and
    ``around`` is set, to a cursor or a message key. ``cursor`` is set alone: it has the times and the direction of its
    query. The items of a page have at most ``max_bytes`` of UTF-8, unless a single item is longer. A page that is cut
    by this limit says that there is more.
    """

    limit: Annotated[int, BeforeValidator(whole_number(1, LIMIT))] = Field(
        default=DEFAULT_LIMIT, description=f"a whole number from 1 to {LIMIT}"
    )
    before: Place | None = Field(default=None, description="a cursor or a message key")
    after: Place | None = Field(default=None, description="a cursor or a message key")
    around: Place | None = Field(default=None, description="a message key")
    start: QueryTime | None = Field(default=None, alias="from", description=times.ACCEPTED_FORM)
    end: QueryTime | None = Field(default=None, alias="to", description=times.ACCEPTED_FORM)
    cursor: Place | None = Field(default=None, description=CURSOR_FORM)

    max_bytes: int = Field(default=PAGE_BYTES, exclude=True)

    @field_validator("after", "around")
    @classmethod
    def _is_alone(cls, value: str | None, info: ValidationInfo) -> str | None:
        first = next((name for name in PLACES if info.data.get(name) is not None), None)
        if value is not None and first is not None:
            allowed = "one of before, after and around"
            raise PydanticCustomError("place", f"cannot be combined with {first}", {"allowed": allowed, "got": None})
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
        names = {"start": "from", "end": "to", **{name: name for name in PLACES}}
        _refuse_beside(value, [shown for name, shown in names.items() if info.data.get(name) is not None])
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

    @property
    def is_newest(self) -> bool:
        """Whether the newest items are requested."""
        return (self.before, self.after, self.around, self.start, self.end, self.cursor) == (None,) * 6
