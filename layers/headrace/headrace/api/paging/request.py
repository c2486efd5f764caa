"""What a client asks of a history: which page, how long, between which times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.core.keys import ID_FORM, normalize_id

DEFAULT_LIMIT = 20
LIMIT = 200
PAGE_BYTES = 3 * 1024 * 1024
"""Of a page's items in UTF-8. An answer may have 6 MB, and grows as it is encoded once more on its way."""

PLACES = ("before", "after", "around")
PARAMETERS = ("limit", *PLACES, "from", "to")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """``start`` (inclusive) and ``end`` (exclusive) are canonical times; at most one of the places is set.

    A place is a cursor or a message key. The items of a page have together at most ``max_bytes`` in UTF-8, unless it is
    one alone: where that cuts a page short, it says that there is more.
    """

    limit: int = DEFAULT_LIMIT
    before: str | None = None
    after: str | None = None
    around: str | None = None
    start: str | None = None
    end: str | None = None
    max_bytes: int = PAGE_BYTES

    @property
    def is_newest(self) -> bool:
        """Whether it asks for the newest items there are."""
        return (self.before, self.after, self.around, self.start, self.end) == (None,) * 5


def parse_page_request(query: Mapping[str, object] | None) -> PageRequest:
    """The page that a query string, or a frame's fields, ask for; ``None`` counts as not given.

    Raises:
        InvalidRequest: names every parameter that is wrong, what came, and what is allowed.
    """
    wrong: list[FieldError] = []
    given: dict[str, str] = {}
    for name, value in (query or {}).items():
        if name not in PARAMETERS:
            what = "is not a parameter of this route"
            wrong.append(FieldError(str(echo(name)), what, echo(value), ", ".join(PARAMETERS)))
        elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            given[name] = str(value) if isinstance(value, str) or abs(value) < 10**18 else "-"
        elif value is not None:
            wrong.append(FieldError(name, "is neither a text nor a whole number", echo(value), "a text"))
    limit = given.get("limit", str(DEFAULT_LIMIT))
    if not (limit.isascii() and limit.isdigit() and 0 < int(limit[:9]) <= LIMIT):
        wrong.append(FieldError("limit", "is out of range", echo(limit), f"a whole number from 1 to {LIMIT}"))
    bounds: dict[str, str | None] = {"from": None, "to": None}
    for name in bounds:
        if name in given:
            try:
                bounds[name] = times.parse_query(given[name])
            except ValueError:
                wrong.append(FieldError(name, "is not a time", echo(given[name]), times.ACCEPTED_FORM))
    first, *others = [name for name in PLACES if name in given] or [""]
    for name in others:
        wrong.append(FieldError(name, f"cannot stand beside {first}", None, "one of before, after and around"))
    if bounds["from"] is not None and bounds["to"] is not None and bounds["from"] > bounds["to"]:
        wrong.append(FieldError("to", "is before from", echo(given["to"]), "a time not before from"))
    if wrong:
        raise InvalidRequest("the query cannot be answered as it stands", details=wrong)
    before, after, around = (given.get(name) for name in PLACES)
    return PageRequest(int(limit), before, after, around, bounds["from"], bounds["to"])


@dataclass(frozen=True, slots=True)
class ListRequest:
    """How many entries of a list, from which cursor on."""

    limit: int
    place: str | None = None


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
    return ListRequest(int(limit), given.get(place))


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
