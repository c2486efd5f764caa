"""Which events are counted, and where they are read: all of a stream, or those of one user or group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.analytics.time_slots import Span
from headrace.core import keys, times
from headrace.core.stream import AnalyticsDimensions, Stream
from headrace.storage.ports import Query


@dataclass(frozen=True, slots=True)
class Scope:
    """A stream, ``narrowed`` to rows with these values of its dimensions: ``(("roomId", "kitchen"),)``.

    Narrowed to one value, rows are read from the table or index that has it as its partition key: a few pages of one
    room instead of all rooms. Narrowed to two, the first such one is read and filtered.
    """

    stream: Stream
    narrowed: tuple[tuple[str, str], ...] = ()

    @property
    def dimensions(self) -> AnalyticsDimensions:
        """What the stream's slots count by. Raises TypeError if the stream declares nothing."""
        if self.stream.analytics_dimensions is None:
            raise TypeError(f"the stream {self.stream.name} has no slots")
        return self.stream.analytics_dimensions

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are counted: the user's, then each group's."""
        return (self.dimensions.user, *self.dimensions.groups)

    def shards(self, read_shards: int) -> int:
        """How many partitions its rows are spread over."""
        return len(self._source(read_shards)[2])

    def queries(self, table: str, read_shards: int, span: Span) -> Iterator[Query]:
        """One query for every partition that has rows of ``span``."""
        index, attribute, partitions = self._source(read_shards)
        for partition in partitions:
            yield Query(
                table,
                attribute,
                partition,
                self.dimensions.time,
                index=index,
                lower=times.iso(span.start),
                upper=times.iso(span.end),
                attributes=self.attributes,
            )

    def _source(self, read_shards: int) -> tuple[str | None, str, list[str]]:
        for index in self.stream.indexes:
            for name, value in self.narrowed:
                if name in (index.of, index.partition_key):
                    return index.name, index.partition_key, index.partitions(value)
        for name, value in self.narrowed:
            if self.stream.partition_key == name:
                return None, name, [value]
        index = next(index for index in self.stream.indexes if index.sharded)
        shards = index.shards.read if index.shards is not None else read_shards
        return index.name, index.partition_key, keys.shard_names(shards)
