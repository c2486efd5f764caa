"""What is asked: a window, perhaps narrowed, and how much of it. Every parameter that is wrong is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from headrace.analytics.scope import Scope
from headrace.analytics.time_slots import DAY, HOUR, MINUTE, Span
from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.core.keys import ID_FORM, normalize_id
from headrace.core.stream import AnalyticsDimensions, Stream

DEFAULT_TOP, TOP_LIMIT = 10, 10_000
SERIES_STEPS = (MINUTE, HOUR, DAY)
SHORTEST, LONGEST = times.SECOND, 31 * times.DAY

_WINDOW_FORM = f"a time from 1 second to 31 days after from; {times.ACCEPTED_FORM}"
_TOP_FORM = f"a whole number from 1 to {TOP_LIMIT}"
_STEP_FORM = "one of " + ", ".join(map(str, SERIES_STEPS))

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """A ``window`` of a ``scope``; ``top`` and ``step`` are of the routes that have them."""

    scope: Scope
    window: Span
    top: int = DEFAULT_TOP
    step: int = MINUTE


class _Query:
    """Takes parameters one by one, and remembers what is wrong with them."""

    def __init__(self, given: Mapping[str, str], allowed: tuple[str, ...]) -> None:
        self._given = given
        self.wrong = [
            FieldError(str(echo(name)), "is not a parameter of this route", echo(given[name]), ", ".join(allowed))
            for name in given
            if name not in allowed
        ]

    def take(self, name: str, read: Callable[[str], T], message: str, form: str) -> T | None:
        """What ``read`` makes of the parameter, if it can."""
        if name not in self._given:
            return None
        try:
            return read(self._given[name])
        except ValueError:
            self.refuse(name, message, form)
            return None

    def need(self, name: str, form: str) -> None:
        """Refuse, if the parameter is not there."""
        if name not in self._given:
            self.wrong.append(FieldError(name, "is missing", None, form))

    def refuse(self, name: str, message: str, form: str) -> None:
        """Refuse the parameter."""
        self.wrong.append(FieldError(name, message, echo(self._given.get(name)), form))

    def check(self) -> None:
        """Pass if nothing was refused."""
        if self.wrong:
            raise InvalidRequest("the query cannot be answered as it stands", details=self.wrong)


def parse_request(
    stream: Stream, query: Mapping[str, str] | None, *more: str, by: Mapping[str, str] | None = None
) -> WindowRequest:
    """The request in a query string; ``more`` are the route's own parameters, of ``top`` and ``step``.

    It may be narrowed by parameters, unless the route says by what it is: ``by``, such as an id in its path.

    Raises:
        InvalidRequest: names every parameter that is wrong, what came, and what is allowed.
    """
    narrowing = _narrowing(stream.analytics_dimensions) if by is None else ()
    taken = _Query(dict(query or {}), ("from", "to", *more, *narrowing))
    window = _window(taken)
    top = taken.take("top", _whole_number, "is not a whole number", _TOP_FORM) if "top" in more else None
    if top is not None and not 1 <= top <= TOP_LIMIT:
        taken.refuse("top", "is out of range", _TOP_FORM)
    step = taken.take("step", _whole_number, "is not offered", _STEP_FORM) if "step" in more else None
    if step is not None and step not in SERIES_STEPS:
        taken.refuse("step", "is not offered", _STEP_FORM)
    narrowed = [(name, taken.take(name, normalize_id, "is not a usable id", ID_FORM)) for name in narrowing]
    taken.check()
    named = by.items() if by is not None else narrowed
    scope = Scope(stream, tuple((name, value) for name, value in named if value is not None))
    return WindowRequest(scope, window, top or DEFAULT_TOP, step or MINUTE)


def _narrowing(dimensions: AnalyticsDimensions | None) -> tuple[str, ...]:
    return () if dimensions is None else (*dimensions.groups, dimensions.user)


def _window(taken: _Query) -> Span:
    taken.need("from", times.ACCEPTED_FORM)
    taken.need("to", _WINDOW_FORM)
    start = taken.take("from", _micros, "is not a time with a zone", times.ACCEPTED_FORM)
    end = taken.take("to", _micros, "is not a time with a zone", times.ACCEPTED_FORM)
    if start is None or end is None:
        return Span(0, 0)
    if end < start:
        taken.refuse("to", "is before from", _WINDOW_FORM)
    elif end - start < SHORTEST:
        taken.refuse("to", "makes a window of less than 1 second", _WINDOW_FORM)
    elif end - start > LONGEST:
        taken.refuse("to", "makes a window of more than 31 days", _WINDOW_FORM)
    return Span(start, end)


def _micros(text: str) -> int:
    return times.micros_of(times.parse_query(text))


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ValueError("not a whole number")
    return int(text)
