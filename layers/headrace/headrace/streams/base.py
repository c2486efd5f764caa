"""What a stream declares, and the rules that all streams share: ids, times, who sent it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from headrace import keys, times
from headrace.auth import Caller
from headrace.errors import FieldError, InvalidEvent, PoisonRecord, StoreUnavailable, UserError, shown
from headrace.items import Item
from headrace.settings import TableSettings

AHEAD_LIMIT = 5 * times.MINUTE
AGE_LIMIT = times.DAY


@dataclass(slots=True)
class Sender:
    """Who sends, and when: made once per request.

    ``subject`` and ``username`` come from the token. A ``trusted`` one (scope events:write) may name the user and
    send events of any age. ``now`` is the server's clock in microseconds, read once. ``address`` is the client's, for
    streams that keep a keyed hash of it; it is in no ``repr``.
    """

    subject: str
    username: str
    trusted: bool
    now: int
    address: str = field(default="", repr=False)
    _server_times: dict[str, str] = field(default_factory=dict)

    def server_time(self, event_id: str | None) -> str:
        """A time from the server's clock: a microsecond later for each event of a request, so that their order
        lasts; the same for an id that comes twice, so that it stays one event."""
        if event_id is not None and event_id in self._server_times:
            return self._server_times[event_id]
        chosen = times.iso(self.now + len(self._server_times))
        self._server_times[event_id or f"#{len(self._server_times)}"] = chosen
        return chosen


@dataclass(frozen=True, slots=True)
class Stamped:
    """A valid event with its id and time. ``key`` is equal for equal events; ``receipt`` is what its sender is told."""

    event: dict[str, Any]
    id: str
    key: tuple[str, str]
    receipt: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Shards:
    """Over how many partitions an index spreads what belongs together: ``write`` are filled, ``read`` are asked."""

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


class Listener(Protocol):
    """Hears of stored rows of one stream, as :class:`headrace.persist.AfterStore` says."""

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[StoreUnavailable | PoisonRecord | None]:
        """One outcome per item, in order."""
        ...


class Entrance(Protocol):
    """Says which events may be written, as :class:`headrace.gates.Gate` says."""

    def admit(self, caller: Caller, events: Sequence[Stamped], now: int) -> Sequence[UserError | None]:
        """Why each event is refused, in order."""
        ...


@dataclass(frozen=True, kw_only=True)
class SlotDimensions:
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

    ``accept(raw, sender)`` validates what a client sent and stamps it, or raises InvalidEvent.
    ``item(event, accepted_at, table)`` validates a stamped event again (a record may come from anywhere) and makes
    its row, or raises PoisonRecord; ``accepted_at`` is in microseconds.
    ``id_field`` is where an event has its id, in what clients send and are told.
    ``table_setting`` and ``retention_setting`` name the variables with its table and its days to keep.
    ``listener`` makes what hears of its stored rows, ``gate`` what may refuse valid events; each is made once per
    environment, where it is used.
    A stream with ``slot_dimensions`` has slots (``headrace.analytics``).
    With ``keeps_first`` a row that is there stays as it is, whatever is put under its key later.
    """

    name: str
    id_field: str
    write_scope: str
    accept: Callable[[object, Sender], Stamped]
    item: Callable[[dict[str, Any], int, TableSettings], Item]
    table_setting: str
    retention_setting: str
    partition_key: str
    sort_key: str
    indexes: tuple[Index, ...] = ()
    listener: Callable[[], Listener] | None = None
    gate: Callable[[], Entrance] | None = None
    slot_dimensions: SlotDimensions | None = None
    keeps_first: bool = False


class EventModel(BaseModel):
    """Base of event models: strict types, camelCase outside, unknown fields ignored.

    A field's ``description`` is its accepted form, and is quoted when a value is refused.
    """

    model_config = ConfigDict(strict=True, extra="ignore", alias_generator=to_camel)


def _id(value: str) -> str:
    try:
        return keys.normalize_id(value)
    except ValueError as error:
        raise PydanticCustomError("empty_key" if not value else "invalid_key", str(error)) from None


def _unicode(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise PydanticCustomError("string_unicode", "is not valid Unicode") from None
    return value


def _time(value: object) -> str:
    try:
        return times.parse(value)
    except ValueError:
        raise PydanticCustomError("time", "is not a time with a zone") from None


def _canonical(value: str) -> str:
    if not times.is_canonical(value):
        raise PydanticCustomError("invalid_key", "is not a canonical time")
    return value


def _tag(value: str) -> str:
    if not keys.is_sender_tag(value):
        raise PydanticCustomError("invalid_key", "is not a sender tag")
    return value


Text = Annotated[str, AfterValidator(_unicode)]
Id = Annotated[str, AfterValidator(_id)]
Time = Annotated[str, BeforeValidator(_time)]
CanonicalTime = Annotated[str, AfterValidator(_canonical)]
SenderTag = Annotated[str, AfterValidator(_tag)]


def choose_time(
    sender: Sender, id_field: str, event_id: str | None, timestamp: str | None, time_field: str = "timestamp"
) -> str:
    """The time of an event: the client's own, else the one inside a UUIDv7, else the server's clock.

    The first two may be at most 5 minutes ahead, and at most 24 hours old unless the sender is trusted.

    Raises:
        InvalidEvent: outside of these bounds.
    """
    if timestamp is not None:
        _check_bounds(sender, time_field, timestamp)
        return timestamp
    inside = times.uuid7_micros(event_id) if event_id is not None else None
    if inside is None:
        return sender.server_time(event_id)
    try:
        chosen = times.iso(inside)
    except ValueError:
        raise _outside(id_field, str(event_id), "holds a time that is no time", sender) from None
    _check_bounds(sender, id_field, chosen)
    return chosen


def expires_at(timestamp: str, accepted_at: int, retention_days: int) -> int:
    """The second in which the row of an event may go: ``retention_days`` after it was accepted, or up to a day later.

    Counted from the end of the day in which it may be sent: so whoever sends it again changes nothing (P3). An event
    that was older than that when it was accepted (replayed logs) is kept from then on, and is not born expired.
    """
    return (max(times.micros_of(timestamp) + AGE_LIMIT, accepted_at) + retention_days * times.DAY) // times.SECOND


def _check_bounds(sender: Sender, field_name: str, timestamp: str) -> None:
    if timestamp > times.iso(sender.now + AHEAD_LIMIT):
        raise _outside(field_name, timestamp, "is too far ahead", sender)
    if not sender.trusted and timestamp < times.iso(sender.now - AGE_LIMIT):
        raise _outside(field_name, timestamp, "is too old", sender)


def _outside(field_name: str, timestamp: str, message: str, sender: Sender) -> InvalidEvent:
    age = "any age" if sender.trusted else "at most 24 hours old"
    allowed = f"at most 5 minutes ahead and {age}; the server's time is {times.iso(sender.now)}"
    return InvalidEvent(f"{field_name} {message}", details=[FieldError(field_name, message, timestamp, allowed)])


def choose_user(sender: Sender, user_id: str | None, username: str | None) -> tuple[str, str]:
    """The user id and username of an event: the token's, unless a trusted sender names others.

    Raises:
        InvalidEvent: an untrusted sender names somebody else.
    """
    if sender.trusted:
        if user_id is None:
            return sender.subject, username or sender.username
        return user_id, username or user_id
    allowed = "the token's own, unless it has the scope events:write"
    for name, given, own in (("userId", user_id, sender.subject), ("username", username, sender.username)):
        if given is not None and given != own:
            detail = FieldError(name, "is not the token's", shown(given), allowed)
            raise InvalidEvent(f"{name} is not the token's", details=[detail])
    return sender.subject, sender.username
