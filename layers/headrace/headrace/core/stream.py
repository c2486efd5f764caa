"""What a stream declares: its models, table, keys, indexes and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from headrace.core import keys
from headrace.core.errors import FollowUpUnavailable, PoisonRecord, StoreUnavailable
from headrace.core.items import Item
from headrace.core.sender import SenderContext

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """One stream's table: its name, how many days rows are kept (0: for ever), and the shards of its time index."""

    table: str
    retention_days: int = 0
    time_write_shards: int = 8
    time_read_shards: int = 8


@dataclass(frozen=True, slots=True)
class ValidatedEvent:
    """A valid event with its id and time. ``key`` is equal for equal events; ``receipt`` is in the answer."""

    event: dict[str, Any]
    id: str
    key: tuple[str, str]
    receipt: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Shards:
    """Over how many partitions an index spreads what belongs together: ``write`` are filled, ``read`` are read."""

    write: int
    read: int

    def __post_init__(self) -> None:
        if not 0 < self.write <= self.read:
            raise ValueError("events in the shards beyond would be missing from every answer")


@dataclass(frozen=True, kw_only=True)
class Index:
    """A secondary index; a ``sharded`` one has a time shard as its partition key.

    ``shards`` are the stream's own; without, they are those of TIME_WRITE_SHARDS and TIME_READ_SHARDS.
    An index ``of`` an attribute has the rows of each of its values spread over its ``shards`` (``keys.shard_of``).
    """

    name: str
    partition_key: str
    sort_key: str
    sharded: bool = False
    shards: Shards | None = None
    of: str | None = None

    def partitions(self, value: str) -> list[str]:
        """Where the rows of one value lie: of the partition key, or of the attribute that is spread."""
        return [value] if self.shards is None else keys.shards_of(value, self.shards.read)


@dataclass(frozen=True, kw_only=True)
class AnalyticsDimensions:
    """What the slots of a stream count by: the attribute of its ``user``, and those of its ``groups``.

    Its sharded index must hold all of them, and ``expiresAt``; ``time`` is the sort key of every index that slots are
    read from, and begins with the time.
    """

    user: str
    groups: tuple[str, ...]
    time: str = "timestampSk"


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One kind of event, declared in one module.

    ``incoming`` is the model of an event as clients send it; a stream without one is not for clients.
    ``accept(raw, sender)`` validates what a client sent and stamps it, or raises InvalidEvent.
    ``item(event, accepted_at, table)`` validates a stamped event again (a record may come from anywhere) and makes
    its row, or raises PoisonRecord; ``accepted_at`` is in microseconds.
    ``id_field`` is the field of the id, in requests and in answers.
    ``table_setting`` and ``retention_setting`` name the variables with its table and its days to keep.
    A stream with ``analytics_dimensions`` has slots (``headrace.analytics``).
    With ``insert_only`` an existing row is never replaced.
    """

    name: str
    id_field: str
    write_scope: str
    accept: Callable[[object, SenderContext], ValidatedEvent]
    item: Callable[[dict[str, Any], int, TableSettings], Item]
    table_setting: str
    retention_setting: str
    partition_key: str
    sort_key: str
    incoming: type[BaseModel] | None = None
    indexes: tuple[Index, ...] = ()
    analytics_dimensions: AnalyticsDimensions | None = None
    insert_only: bool = False


class StoredHook(Protocol):
    """Is notified after rows are stored: a live copy, an invalidated cache, a count."""

    def stored(
        self, stream: Stream, items: Sequence[Item]
    ) -> Sequence[StoreUnavailable | PoisonRecord | FollowUpUnavailable | None]:
        """One outcome per item, in order. Must not raise, and may be called again with the same item.

        A failure sends the item's event through the retry queue, where it is stored and the hook is called again. So
        return failures only for what answers depend on; report best-effort work that failed, and return ``None``.
        """
        ...
