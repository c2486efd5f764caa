"""What a client asks of a list: which page, how long, between which times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from headrace.api.params import Params, read, whole_number
from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.core.keys import ID_FORM, normalize_id

DEFAULT_LIMIT = 20
LIMIT = 200
PAGE_BYTES = 3 * 1024 * 1024
"""Of a page's items in UTF-8. An answer may have 6 MB, and grows as it is encoded once more on its way."""

PLACES = ("before", "after", "around")


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PydanticCustomError("no_text", "is neither a text nor a whole number", {"allowed": "a text"})
    return str(value) if isinstance(value, str) or abs(value) < 10**18 else "-"


def _time(value: object) -> str:
    try:
        return times.parse_query(_text(value))
    except ValueError:
        raise PydanticCustomError("time", "is not a time") from None


Place = Annotated[str, BeforeValidator(_text)]
QueryTime = Annotated[str, BeforeValidator(_time)]


class ListRequest(Params):
    """A page of a list that is read in one direction: ``limit`` entries, from the cursor ``place`` on."""

    refusal = "the query cannot be answered as it stands"

    limit: int
    place: str | None = None


class PageRequest(Params):
    """A page of a history.

    ``start`` (inclusive) and ``end`` (exclusive) are canonical times; at most one of the places is set. A place is a
    cursor or a message key. The items of a page have together at most ``max_bytes`` in UTF-8, unless it is one alone:
    where that cuts a page short, it says that there is more.
    """

    refusal = "the query cannot be answered as it stands"

    limit: Annotated[int, BeforeValidator(whole_number(1, LIMIT))] = Field(
        default=DEFAULT_LIMIT, description=f"a whole number from 1 to {LIMIT}"
    )
    before: Place | None = Field(default=None, description="a cursor or a message key")
    after: Place | None = Field(default=None, description="a cursor or a message key")
    around: Place | None = Field(default=None, description="a message key")
    start: QueryTime | None = Field(default=None, alias="from", description=times.ACCEPTED_FORM)
    end: QueryTime | None = Field(default=None, alias="to", description=times.ACCEPTED_FORM)

    max_bytes: int = Field(default=PAGE_BYTES, exclude=True)

    @field_validator("after", "around")
    @classmethod
    def _is_alone(cls, value: str | None, info: ValidationInfo) -> str | None:
        first = next((name for name in PLACES if info.data.get(name) is not None), None)
        if value is not None and first is not None:
            allowed = "one of before, after and around"
            raise PydanticCustomError("place", f"cannot stand beside {first}", {"allowed": allowed, "got": None})
        return value

    @field_validator("end")
    @classmethod
    def _follows_its_start(cls, value: str | None, info: ValidationInfo) -> str | None:
        start = info.data.get("start")
        if value is not None and start is not None and start > value:
            raise PydanticCustomError("order", "is before from", {"allowed": "a time not before from"})
        return value

    @property
    def is_newest(self) -> bool:
        """Whether it asks for the newest items there are."""
        return (self.before, self.after, self.around, self.start, self.end) == (None,) * 5


def parse_page_request(query: Mapping[str, object] | None) -> PageRequest:
    """The page that a query string, or a frame's fields, ask for."""
    return read(PageRequest, query) or PageRequest()


def parse_list_request(query: Mapping[str, str] | None, place: str, default: int, most: int) -> ListRequest:
    """What a query string asks of a list that is read in one direction; its parameters are limit and ``place``.

    Raises:
        InvalidRequest: names every parameter that is wrong, what came, and what is allowed.
    """
    given = dict(query or {})
    wrong = [
        FieldError(str(echo(name)), "is not a parameter of this route", echo(given[name]), f"limit, {place}")
        for name in given
        if name not in ("limit", place)
    ]
    limit = given.get("limit", str(default))
    if not (limit.isascii() and limit.isdigit() and 0 < int(limit[:9]) <= most):
        wrong.append(FieldError("limit", "is out of range", echo(limit), f"a whole number from 1 to {most}"))
    if wrong:
        raise InvalidRequest("the query cannot be answered as it stands", details=wrong)
    return ListRequest(limit=int(limit), place=given.get(place))


def path_id(field: str, value: str | None) -> str:
    """An id from a path, normalized.

    Raises:
        InvalidRequest: names the field and what is allowed.
    """
    try:
        return normalize_id(value or "")
    except ValueError as error:
        detail = FieldError(field, str(error), echo(value), ID_FORM)
        raise InvalidRequest(f"{field} is not a usable id", details=[detail]) from None
