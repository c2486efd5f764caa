"""The table of messages as if each room had one partition: rows have the id of their room, wherever they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

from headrace.storage.merged_reader import MergedReader
from headrace.storage.reading import ColumnReader, Columns, Query, RangeQuery, RangeReader, Rows
from headrace.streams.chat.message_row import is_message
from headrace.streams.chat.room_shards import partitions_of, room_of, shard_count, shown, stored


def share(limit: int, shards: int) -> int:
    """The rows to read of each shard for the first ``limit`` of a room.

    More than a shard has among them, but for one page in some hundred. Such a page is short, and is read on.
    """
    return min(limit, ceil(limit / shards + 3 * sqrt(limit / shards) + 2))


class MessageReader:
    """A :class:`~headrace.storage.reading.RangeReader` of the table of messages and its indexes.

    All shards of a room are read at once, and their rows put in one order. So ``more`` has only the sort key. Messages
    that are not stored yet are left out; a query that names attributes has to name their users.
    """

    def __init__(self, reader: RangeReader) -> None:
        self._reader = reader
        self._merged = MergedReader(reader, partitions_of, lambda key: {"timestampSk": key}, share)

    def read(self, query: RangeQuery) -> Rows:
        (rows,) = self.read_many([query])
        return rows

    def read_many(self, queries: Sequence[RangeQuery]) -> Iterable[Rows]:
        if any(query.index for query in queries) or all(shard_count(query.partition) == 1 for query in queries):
            return map(_shown, self._reader.read_many([_from_place(query) for query in queries]))
        return map(_shown, self._merged.read_many(queries))


def _from_place(query: RangeQuery) -> RangeQuery:
    """A query that starts at the key of a row as it is stored."""
    return query if query.start is None else replace(query, start=stored(dict(query.start)))


def _shown(rows: Rows) -> Rows:
    """The rows of messages that are stored, with the ids of their rooms."""
    more = None if rows.more is None else shown(dict(rows.more))
    return Rows([shown(row) for row in rows.items if is_message(row)], more)


@dataclass(frozen=True, slots=True)
class MessageColumns:
    """A :class:`~headrace.storage.reading.ColumnReader` of the table of messages and its indexes."""

    reader: ColumnReader

    def read(self, query: Query) -> Columns:
        found = self.reader.read(query)
        room_ids = found.values["roomId"]
        rooms = {room_id: room_of(room_id) for room_id in set(room_ids) if "~" in room_id}
        if rooms:
            found.values["roomId"] = [rooms.get(room_id, room_id) for room_id in room_ids]
        return found
