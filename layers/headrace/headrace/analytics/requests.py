"""Parameters of analytics: a window of time, filters by user or group, the length of lists and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, create_model, field_validator
from pydantic_core import PydanticCustomError

from headrace.analytics.scope import Scope
from headrace.analytics.time_slots import DAY, HOUR, MINUTE, Span
from headrace.api.params import Params, query_time
from headrace.core import times
from headrace.core.fields import QUERY_TIME_SCHEMA, Number, StoredId, accepts, whole_number
from headrace.core.keys import STORED_ID_FORM
from headrace.core.stream import Stream

DEFAULT_TOP, TOP_LIMIT = 10, 10_000
SERIES_STEPS = (MINUTE, HOUR, DAY)
SHORTEST, LONGEST = times.SECOND, 31 * times.DAY
_WINDOW_FORM = f"a time from 1 second to 31 days after from; {times.ACCEPTED_FORM}"
_STEP_FORM = "one of " + ", ".join(map(str, SERIES_STEPS))


@dataclass(frozen=True, slots=True)
class WindowRequest:
    """A ``window`` of a ``scope``; ``top`` is the length of lists, ``step`` the seconds of a step."""

    scope: Scope
    window: Span
    top: int = DEFAULT_TOP
    step: int = MINUTE


def _micros(value: object) -> int:
    return times.micros_of(query_time(value))


def _offered(step: int) -> int:
    if step not in SERIES_STEPS:
        raise PydanticCustomError("step", "is not offered")
    return step


Micros = Annotated[int, BeforeValidator(_micros), accepts(**QUERY_TIME_SCHEMA)]
Step = Annotated[Number, AfterValidator(_offered), accepts(type="integer", enum=list(SERIES_STEPS))]


class WindowQuery(Params):
    """A window of 1 second to 31 days; times are microseconds since the epoch."""

    start: Micros = Field(alias="from", description=times.ACCEPTED_FORM)
    end: Micros = Field(alias="to", description=_WINDOW_FORM)
    top: int = Field(default=DEFAULT_TOP, exclude=True)
    step: int = Field(default=MINUTE, exclude=True)

    @field_validator("end")
    @classmethod
    def _makes_a_window(cls, value: int, info: ValidationInfo) -> int:
        start = info.data.get("start", value - SHORTEST)
        if value < start:
            raise PydanticCustomError("order", "is before from")
        if value - start < SHORTEST:
            raise PydanticCustomError("short", "makes a window of less than 1 second")
        if value - start > LONGEST:
            raise PydanticCustomError("long", "makes a window of more than 31 days")
        return value

    def of(self, stream: Stream, *fixed: tuple[str, str]) -> WindowRequest:
        """The request for ``stream``, filtered by the ``fixed`` values and by the filters in the query."""
        given = [(name, getattr(self, name, None)) for name in filters_of(stream)]
        narrowed = [*fixed, *((name, value) for name, value in given if value is not None)]
        return WindowRequest(Scope(stream, tuple(narrowed)), Span(self.start, self.end), self.top, self.step)


class TopQuery(WindowQuery):
    """A window, and how many users and groups to list."""

    top: Number = whole_number(1, TOP_LIMIT, default=DEFAULT_TOP)


class StepQuery(WindowQuery):
    """A window, and the seconds of each of its steps."""

    step: Step = Field(default=MINUTE, description=_STEP_FORM)


Q = TypeVar("Q", bound=WindowQuery)


def filters_of(stream: Stream) -> tuple[str, ...]:
    """The attributes by which analytics of ``stream`` can be filtered: its groups, then its user."""
    dimensions = stream.analytics_dimensions
    return () if dimensions is None else (*dimensions.groups, dimensions.user)


def filtered(model: type[Q], stream: Stream) -> type[Q]:
    """``model`` with an optional parameter for each attribute by which ``stream`` can be filtered."""
    field = (StoredId | None, Field(default=None, description=STORED_ID_FORM))
    filters: dict[str, Any] = dict.fromkeys(filters_of(stream), field)
    return create_model(f"{stream.name.title()}{model.__name__}", __base__=model, **filters)
