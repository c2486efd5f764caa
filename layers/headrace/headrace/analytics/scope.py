"""Selects the events to count, all of a stream or those of one user or group, and the partitions to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.analytics.time_slots import Span
from headrace.core import keys, times
from headrace.core.stream import AnalyticsDimensions, Stream
from headrace.storage.ports import Query


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

    def shards(self, read_shards: int) -> int:
        """The number of partitions with its rows."""
        return len(self._source(read_shards)[2])

    def queries(self, table: str, read_shards: int, span: Span) -> Iterator[Query]:
        """One query of ``span`` for each partition."""
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
        for index in (each for each in self.stream.indexes if not each.sparse):
            for name, value in self.narrowed:
                if name in (index.of, index.partition_key):
                    return index.name, index.partition_key, index.partitions(value)
        for name, value in self.narrowed:
            if self.stream.partition_key == name:
                return None, name, [value]
        index = next(index for index in self.stream.indexes if index.sharded)
        shards = index.shards.read if index.shards is not None else read_shards
        return index.name, index.partition_key, keys.shard_names(shards)
