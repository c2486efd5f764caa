"""Parameters of analytics: a window of time, filters by user or group, the length of lists and steps."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, create_model, field_validator
from pydantic_core import PydanticCustomError

from headrace.api.params import Params
from headrace.core import times
from headrace.core.fields import QUERY_TIME_SCHEMA, Number, StoredId, accepts, canonical_time, whole_number
from headrace.core.keys import STORED_ID_FORM
from headrace.core.stream import AnalyticsDimensions, Stream
from headrace.features.analytics.aggregate import Aggregate
from headrace.features.analytics.time_slots import DAY, HOUR, MINUTE, Span
from headrace.storage.reading import Query

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
    return times.micros_of(canonical_time(value))


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


@dataclass(frozen=True, slots=True)
class Scope:
    """A stream, ``narrowed`` to rows with these values of its dimensions, such as ``(("roomId", "kitchen"),)``.

    With one value, rows are read from the table or index with that partition key: a few pages of one room instead of
    all rooms. With two values, one of them selects the partition, and its rows are filtered by the other.
    """

    stream: Stream
    narrowed: tuple[tuple[str, str], ...] = ()

    @property
    def dimensions(self) -> AnalyticsDimensions:
        """The dimensions by which the stream's events are counted; TypeError if it declares none."""
        if self.stream.analytics_dimensions is None:
            raise TypeError(f"the stream {self.stream.name} declares no analytics")
        return self.stream.analytics_dimensions

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes whose values are counted: the user's, then each group's."""
        return (self.dimensions.user, *self.dimensions.groups)

    @property
    def sums(self) -> tuple[str, ...]:
        """The attributes whose numbers are summed."""
        return self.dimensions.sums

    @property
    def name(self) -> str:
        """The name of the stream in the cache. That of a declared one changes with what is counted."""
        if not self.dimensions.key:
            return self.stream.name
        return f"{self.stream.name}.{zlib.crc32(','.join((*self.attributes, '', *self.sums)).encode()):08x}"

    def nothing(self) -> Aggregate:
        """An aggregate of no events."""
        return Aggregate.nothing(len(self.attributes), len(self.sums))

    @property
    def shards(self) -> int:
        """The number of partitions with its rows."""
        return len(self._source()[2])

    def queries(self, table: str, span: Span) -> Iterator[Query]:
        """One query of ``span`` for each partition."""
        index, attribute, partitions = self._source()
        for partition in partitions:
            yield Query(
                table,
                attribute,
                partition,
                self.dimensions.time,
                index=index,
                lower=times.iso(span.start),
                upper=times.iso(span.end),
                attributes=(*self.attributes, *self.sums),
            )

    def _source(self) -> tuple[str | None, str, list[str]]:
        for index in (each for each in self.stream.indexes if not each.sparse):
            for name, value in self.narrowed:
                if name in (index.of, index.partition_key):
                    return index.name, index.partition_key, index.partitions(value)
        for name, value in self.narrowed:
            if name in (self.stream.partition_key, self.dimensions.key):
                return None, self.stream.partition_key, self.stream.partitions(value)
        index = next(each for each in self.stream.indexes if each.sharded)
        return index.name, index.partition_key, index.time_partitions()
