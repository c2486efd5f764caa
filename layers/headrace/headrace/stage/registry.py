"""The streams of this stage, and what features add to the core."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.core.errors import ConfigurationError
from headrace.core.feature import Feature
from headrace.core.items import Item
from headrace.core.stream import Hook, Kind, Stream
from headrace.stage.chosen import CHOSEN, FEATURES, made, parts
from headrace.streams.chat.stream import CHAT, with_features

if TYPE_CHECKING:
    from headrace.core.sender import HashAddress
    from headrace.core.stream import ArchivedTable, EventScreen
    from headrace.queues.ports import LivePublisher
    from headrace.streams.chat.rooms.channels import Channels
    from headrace.streams.chat.rooms.consent import Consent


def _only(part: str, features: Sequence[Feature] | None = None) -> Any:
    """The object of that name, which one feature has at most; ``None`` if none has it."""
    found = parts(part, features)
    if len(found) > 1:
        raise ConfigurationError(f"two features have the part {part}, which one can have")
    return found[0] if found else None


def _kinds() -> dict[str, Kind]:
    """The kinds of changes of messages, by how they change them."""
    found: dict[str, Kind] = {}
    for kinds in parts("KINDS"):
        if twice := found.keys() & kinds.keys():
            raise ConfigurationError(f"two features change messages by {min(twice)!r}")
        found |= kinds
    return found


@functools.cache
def _chat() -> Stream:
    fields = {name: field for fields in parts("FIELDS") for name, field in fields.items()}
    absent = [name for each in FEATURES if each not in CHOSEN for name in each.fields]
    return with_features(fields, absent, _kinds())


def _streams(features: Sequence[Feature]) -> dict[str, Stream]:
    found: dict[str, Stream] = {}
    for stream in (_chat(), *parts("STREAM", features), *made("streams", features)):
        if stream.name in found:
            raise ConfigurationError(f"two streams have the name {stream.name!r}")
        found[stream.name] = stream
    return found


STREAMS = _streams(CHOSEN)
"""The streams by name."""


def all_streams() -> dict[str, Stream]:
    """The streams by name, also those that are left out: their rows still expire, and are erased."""
    return _streams(FEATURES)


def hash_address() -> HashAddress | None:
    """How addresses of clients are hashed, if there are events that keep them."""
    found: HashAddress | None = _only("hash_address")
    return found


def consent() -> Consent:
    """What decides who is added to a room at once."""
    from headrace.streams.chat.rooms.consent import Consent

    build: Callable[[], Consent] | None = _only("consent")
    return build() if build else Consent(lambda: _only("consent", FEATURES)())


def channels(publisher: LivePublisher) -> Channels:
    """What publishes to users what has changed in their rooms."""
    from headrace.streams.chat.rooms.channels import Channels

    build: Callable[[LivePublisher], Channels] = _only("channels") or (lambda _publisher: Channels())
    return build(publisher)


def late(stream: Stream) -> Hook:
    """Marks what a feature has counted of a stream's rows that come late, or change, also while it is left out.

    What it keeps of its counts would lack these rows when it comes back.
    """
    hook: Hook = _only("late", FEATURES)(stream)
    return hook


def remove_first(message: Item) -> None:
    """As :func:`remove`, what only the row of a message leads to."""
    for each in parts("remove_first", FEATURES):
        each(message)


def remove(message: Item) -> None:
    """Delete what features keep beside a message, also those that are left out. May raise StoreUnavailable."""
    remove_first(message)
    for each in parts("remove", FEATURES):
        each(message)


def screens() -> dict[str, EventScreen]:
    """What keeps out of sight what people took back, by stream, also for features that are left out."""
    return {name: screen for screens in parts("screens", FEATURES) for name, screen in screens().items()}


def archived() -> dict[frozenset[str], ArchivedTable]:
    """The tables of streams that are archived, by the names of their keys, also of those that are left out."""
    tables = [stream.archived for stream in all_streams().values()] + parts("ARCHIVED", FEATURES)
    return {keys: table for each in tables for keys, table in each.items()}


def erased(stream: Stream, events: Sequence[tuple[str, Mapping[str, Any]]]) -> set[int]:
    """Which events are of people who were erased after these were accepted, also while no feature can erase more.

    See :data:`.FindErased`.
    """
    return {at for each in parts("erased", FEATURES) for at in each(stream, events)}


def subject_of(row: Item) -> tuple[str, str]:
    """The room and the key of the message that a row of the table of messages is, or is about."""
    for kinds in parts("KINDS", FEATURES):
        kind: Kind | None = kinds.get(row.get(CHAT.kind_field))
        if kind is not None:
            return kind.place_of(row)
    return row["roomId"], row["timestampSk"]
