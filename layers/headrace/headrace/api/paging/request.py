"""Parameters of a request for a page: its place, its length and its times."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from headrace.api.params import Params, QueryTime, whole_number
from headrace.core import times

DEFAULT_LIMIT = 20
LIMIT = 200
PAGE_BYTES = 3 * 1024 * 1024
"""Of a page's items in UTF-8. Lambda's limit is 6 MB for an answer, which is encoded as JSON once more."""

PLACES = ("before", "after", "around")


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PydanticCustomError("no_text", "is neither a text nor a whole number", {"allowed": "a text"})
    return str(value) if isinstance(value, str) or abs(value) < 10**18 else "-"


Place = Annotated[str, BeforeValidator(_text)]


class ListRequest(Params):
    """A page of a list that is read in one direction: ``limit`` entries after the cursor ``place``."""

    limit: int
    place: str | None = None


class PageRequest(Params):
    """A page of a history.

    ``start`` (inclusive) and ``end`` (exclusive) are canonical times. At most one of ``before``, ``after`` and
    ``around`` is set, to a cursor or a message key. The items of a page have at most ``max_bytes`` of UTF-8, unless a
    single item is longer. A page that is cut by this limit says that there is more.
    """

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
            raise PydanticCustomError("place", f"cannot be combined with {first}", {"allowed": allowed, "got": None})
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
        """Whether the newest items are requested."""
        return (self.before, self.after, self.around, self.start, self.end) == (None,) * 5
