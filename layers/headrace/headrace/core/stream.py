"""The declaration of a stream: validation, table, keys, indexes and their time shards; the hooks of its rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.core import keys
from headrace.core.errors import (
    ConfigurationError,
    FollowUpUnavailable,
    PoisonRecord,
    StoreUnavailable,
    echo,
)
from headrace.core.items import Item
from headrace.core.times import HOUR_LENGTH

if TYPE_CHECKING:
    from pydantic import BaseModel

    from headrace.core.sender import Incoming, SenderContext, ValidatedEvent


@dataclass(frozen=True, kw_only=True)
class Shards:
    """The number of partitions that an index spreads one value over: ``write`` are filled, ``read`` are read."""

    write: int
    read: int

    def __post_init__(self) -> None:
        if not 0 < self.write <= self.read:
            raise ConfigurationError(f"{self.write} shards are written and {self.read} read: answers would lack rows")


TIME_SHARDS = Shards(write=8, read=8)
"""Shards of a time index, each for 1,000 writes/s, where the stage's settings have no others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """One stream's table: its name, the days that rows are kept (0: forever), and the shards of its time index."""

    table: str
    retention_days: int = 0
    time_shards: Shards = TIME_SHARDS


@dataclass(frozen=True, kw_only=True)
class Index:
    """A secondary index; a ``sharded`` one has one of its time ``shards`` as its partition key.

    An index ``of`` an attribute spreads the rows of each of its values
    over its ``shards`` (``keys.shard_of``). A ``sparse`` one has only rows with both of its keys. A sharded one of a
    table that several streams ``share`` has its own shards for each, by the stream's name.
    """

    name: str
    partition_key: str
    sort_key: str
    sharded: bool = False
    shards: Shards | None = None
    of: str | None = None
    sparse: bool = False
    share: str = ""

    def time_partitions(self) -> list[str]:
        """The partitions of all rows of a stream, of a ``sharded`` index."""
        count = TIME_SHARDS.read if self.shards is None else self.shards.read
        return keys.shards_of(self.share, count) if self.share else keys.shard_names(count)

    def partitions(self, value: str) -> list[str]:
        """The partitions of the rows of one value: of the partition key, or of the attribute that is spread."""
        return [value] if self.shards is None else keys.shards_of(value, self.shards.read)


@dataclass(frozen=True, kw_only=True)
class AnalyticsDimensions:
    """What the analytics of a stream count by: the attribute of its ``user``, and those of its ``groups``.

    Its sharded index must project all of them, and ``expiresAt``. ``time`` is the sort key of every index that
    analytics read, and begins with the time. ``sums`` are attributes with numbers that are summed. ``key`` is the one
    that the partition of a row follows from, if it is not its partition key.
    """

    user: str
    groups: tuple[str, ...]
    time: str = "timestampSk"
    sums: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True)
class ArchivedTable:
    """A table that is archived, with the stream that it belongs to; ``hour`` is that of a row's event, or empty.

    ``stream_of`` is the stream of a row, in a table of several.
    """

    stream: str
    name: str
    hour: Callable[[Item], str] | None = None
    stream_of: Callable[[Item], str] | None = None

    def folder(self, row: Item) -> str:
        """The folder of a row in the archive."""
        hour = self.hour(row) if self.hour else ""
        stream = self.stream_of(row) if self.stream_of else self.stream
        return f"{stream}/{hour[:10]}/{hour[11:HOUR_LENGTH]}/" if hour else f"{stream}/{self.name}/"


@dataclass(frozen=True, slots=True)
class Kind:
    """Events of a stream with rows of their own form, such as changes of messages; ``name`` is that of their rows.

    ``item`` is as that of a stream. ``place_of(row)`` is the partition and the sort key of the row that a row is about.
    """

    name: str
    item: Callable[[dict[str, Any], int, TableSettings], Item]
    place_of: Callable[[Mapping[str, Any]], tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One stream of events, declared in one module.

    ``sent()`` says how clients send its events. What only stores them never calls it, and loads nothing of it.
    ``item(event, accepted_at, table)`` validates such an event again, since a record may come from anywhere, and makes
    its row, or raises PoisonRecord; ``accepted_at`` is in microseconds.
    ``id_field`` is the field of the id, in requests and in answers; requests may call it ``other_id_field``.
    ``table_setting`` and ``retention_setting`` name the variables with its table and its days to keep; ``keep_days``
    are these days, where no variable has them. Its events are in the persist queues of ``group``, or in its own.
    A stream with ``analytics_dimensions`` has analytics (``headrace.features.analytics``).
    ``partitions(value)`` are those of the rows whose ``partition_key`` has a value.
    ``people`` are the fields of its stamped events that name who can be erased, each with the kind: a person or a room.
    ``kinds`` are those of events with a ``kind_field``, by its value. The kind of all others has the stream's name.
    ``tell`` says what others are told of its rows. ``archived`` are its tables, by the names of their keys.
    """

    name: str
    id_field: str
    write_scope: str
    sent: Callable[[], Incoming]
    item: Callable[[dict[str, Any], int, TableSettings], Item]
    table_setting: str
    partition_key: str
    sort_key: str
    retention_setting: str = ""
    other_id_field: str = ""
    indexes: tuple[Index, ...] = ()
    analytics_dimensions: AnalyticsDimensions | None = None
    partitions: Callable[[str], list[str]] = lambda value: [value]
    people: tuple[tuple[str, str], ...] = ()
    kind_field: str = ""
    kinds: Mapping[str, Kind] = field(default_factory=dict, compare=False)
    tell: Tell | None = None
    archived: Mapping[frozenset[str], ArchivedTable] = field(default_factory=dict, compare=False)
    keep_days: int | None = None
    group: str = ""

    @property
    def incoming(self) -> type[BaseModel] | None:
        """The model of an event as clients send it."""
        return self.sent().model

    @property
    def accept(self) -> Callable[[object, SenderContext], ValidatedEvent]:
        """As :class:`Incoming` has it."""
        return self.sent().accept

    @property
    def queues(self) -> str:
        """The group of its persist queues."""
        return self.group or self.name

    def kind_name(self, event: Mapping[str, Any]) -> str:
        """The name of the kind of an event, or of a row."""
        kind = self.kind_of(event)
        return self.name if kind is None else kind.name

    def kind_of(self, event: Mapping[str, Any]) -> Kind | None:
        """The kind of an event, or of a row, with a ``kind_field``.

        Raises:
            PoisonRecord: unknown_kind: this stage has none of that value.
        """
        if self.kind_field not in event:
            return None
        try:
            return self.kinds[event[self.kind_field]]
        except (KeyError, TypeError):
            raise PoisonRecord("unknown_kind", f"no {self.kind_field} is {echo(event[self.kind_field])}") from None

    def with_time_shards(self, shards: Shards) -> Stream:
        """The stream whose time index has the shards of a stage."""
        indexes = (replace(each, shards=shards) if each.sharded else each for each in self.indexes)
        return replace(self, indexes=tuple(indexes))


@dataclass(frozen=True, slots=True)
class Hidden:
    """An event as it may be shown; ``is_known``: it was taken back for sure, and not only maybe."""

    event: dict[str, Any]
    is_known: bool = True


EventScreen = Callable[[Sequence[Any]], Mapping[int, Hidden]]
"""What is shown in place of some events, by index: what people took back must not be seen while it waits in a queue.

The events are of any form. It must not raise.
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What others are told of a stored change. Its ``key`` is that of the event, which later changes have too."""

    type: str
    key: str
    data: Mapping[str, Any]


Tell = Callable[["Item | None", Item], "Told | None"]
"""What others are told of a row that was stored, given the row before and after; ``None``: nothing that they know."""
TellMessage = Callable[[Item, Item], str]
"""The type of what a feature tells of a message, given its row before (maybe empty) and after; "" for nothing."""


Reason = StoreUnavailable | PoisonRecord | FollowUpUnavailable
"""Why an event is tried again: its row is not stored, or something that must follow is not done yet."""
Hook = Callable[[Sequence[Item]], "Sequence[Reason | None]"]
"""Gets rows of one kind; returns one outcome per row, in order. It must not raise, and may get a row again.

Before rows are stored, a hook checks and changes them: a row with a reason is not stored. After it, a hook makes what
follows, such as a live copy, an invalidated cache or a count: a reason sends the event to the retry queue, where it is
stored and hooked again. Return reasons only for work that answers depend on; report what is best effort.
"""


def built_later(build: Callable[[], Hook]) -> Hook:
    """A hook that is built when it gets its first rows, so that an environment without such rows loads none of it."""
    built = functools.cache(build)
    return lambda items: built()(items)
