"""Archives what was stored: reads changes of the tables from their streams, and writes them to objects."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.core import times
from headrace.core.items import Item
from headrace.core.json import encode_ascii
from headrace.core.keys import TIME_LENGTH
from headrace.core.stream import ArchivedTable
from headrace.core.times import HOUR_LENGTH, is_canonical
from headrace.features.archive.bucket import NEW, SUFFIX, Line, objects, pack
from headrace.runtime.observability import Meter, correlate_batch
from headrace.runtime.threads import Parallel
from headrace.stage import registry
from headrace.stage.registry import subject_of
from headrace.storage.dynamodb.client import from_wire
from headrace.storage.s3 import Objects
from headrace.streams.chat.stream import CHAT

AT_ONCE = 8
NUMBER_LENGTH = 40
"""Digits of a sequence number at most: names of objects sort as their changes do."""


class Archiver:
    """Archives changes of ``tables``, which are by the names of their keys."""

    def __init__(self, objects: Objects, tables: Mapping[frozenset[str], ArchivedTable]) -> None:
        self._objects = objects
        self._tables = tables
        self._parallel = Parallel(AT_ONCE, "archive")

    def archive(self, event: Mapping[str, Any], invocation: str) -> None:
        """Archive a batch of records of a table's stream. A batch that comes again writes the same objects.

        Raises:
            StoreUnavailable: the bucket did not take all. The batch comes again.
        """
        correlate_batch(set(), invocation)
        records: Sequence[Mapping[str, Any]] = event["Records"]
        found: dict[str, dict[str, Line]] = {}
        counts: Counter[str] = Counter()
        for record in records:
            table = self._tables[frozenset(record["dynamodb"]["Keys"])]
            counts[table.stream] += 1
            for folder, line in _lines(table, record):
                # A row that changes several times in a batch has one line.
                found.setdefault(folder, {})[encode_ascii(line["Keys"])] = line
        first, last = (each["dynamodb"]["SequenceNumber"].zfill(NUMBER_LENGTH) for each in (records[0], records[-1]))
        # Two shards may have the same numbers.
        name = f"{first}-{last}-{records[0]['eventID'][:8]}{SUFFIX}"
        bodies = {folder: pack(map(encode_ascii, lines.values())) for folder, lines in found.items()}
        self._parallel.map(lambda folder: self._objects.write(f"{NEW}{folder}{name}", bodies[folder]), list(bodies))
        meter = Meter()
        for stream, count in counts.items():
            meter.count("Archived", count, stream=stream)
        meter.flush()


def _lines(table: ArchivedTable, record: Mapping[str, Any]) -> Iterator[tuple[str, Line]]:
    """The line of a change after its folder; and if the row had another folder before, the line that ends it there."""
    change = record["dynamodb"]
    line = Line(
        Table=table.name,
        SequenceNumber=change["SequenceNumber"],
        Time=times.iso(int(change["ApproximateCreationDateTime"] * times.SECOND)),
        Keys=change["Keys"],
    )
    after = change.get("NewImage")
    now = table.folder(from_wire(after)) if after else ""
    before = table.folder(from_wire(change["OldImage"])) if "OldImage" in change else now
    if before != now:
        yield before, line
    if after:
        yield now, {**line, "NewImage": after}


def archived() -> dict[frozenset[str], ArchivedTable]:
    """The tables that are archived, by the names of their keys, also those of streams that are left out."""
    messages = {frozenset((CHAT.partition_key, CHAT.sort_key)): ArchivedTable(CHAT.name, "messages", _hour)}
    return messages | registry.archived()


def _hour(row: Item) -> str:
    """The hour of the message that a row is, or is about; empty for another row, such as that of a probe."""
    _, key = subject_of(row)
    return key[:HOUR_LENGTH] if is_canonical(key[:TIME_LENGTH]) else ""


@functools.cache
def archiver() -> Archiver:
    """Archives what was stored."""
    return Archiver(objects(), archived())
