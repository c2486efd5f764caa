"""The streams of this stage, and the parts of features that the core asks for."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from headrace.core.errors import ConfigurationError
from headrace.core.feature import Feature
from headrace.core.items import Item
from headrace.core.stream import Hook, Kind, Stream
from headrace.services.shared import remove_files
from headrace.stage.chosen import CHOSEN, FEATURES, module
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.stream import CHAT
from headrace.streams.probe import PROBE
from headrace.streams.ski.stream import SKI

if TYPE_CHECKING:
    from headrace.core.stream import EventScreen
    from headrace.erasure.tasks import Step
    from headrace.exports.lines import Source
    from headrace.streams.chat.messages.known import Complete
    from headrace.streams.chat.told import Tells


def _parts(part: str, features: Sequence[Feature] = CHOSEN) -> list[ModuleType]:
    return [module(each, each.parts[part]) for each in features if part in each.parts]


def _kinds() -> dict[str, Kind]:
    """The kinds of changes of messages, by how they change them."""
    found: dict[str, Kind] = {}
    for part in _parts("kinds"):
        if twice := found.keys() & part.KINDS.keys():
            raise ConfigurationError(f"two features change messages by {min(twice)!r}")
        found |= part.KINDS
    return found


STREAMS: dict[str, Stream] = {stream.name: stream for stream in (replace(CHAT, kinds=_kinds()), PROBE, SKI, ADS)}
"""The streams by name. A new stream is one folder in ``streams`` and one line here."""


def hooks_before() -> list[tuple[str, Hook]]:
    """What features do before rows are stored."""
    return [hook for part in _parts("storing") for hook in part.before()]


def hooks_after() -> list[tuple[str, Hook]]:
    """What features do after rows are stored."""
    return [hook for part in _parts("storing") for hook in part.after(remove)]


@functools.cache
def completes() -> list[Complete]:
    """What gives a message that was awaited what features kept for it, also those that are left out."""
    return [functools.partial(part.complete, remove) for part in _parts("storing", FEATURES)]


def remove(message: Item) -> None:
    """Delete what features keep beside a message, also those that are left out. May raise StoreUnavailable."""
    remove_files(message)
    for part in _parts("storing", FEATURES):
        part.remove(message)


def tells() -> list[Tells]:
    """What features tell others of a change of a message's row."""
    return [part.told for part in _parts("telling")]


def screens() -> dict[str, EventScreen]:
    """What keeps out of sight what people took back, by stream, also for features that are left out."""
    return {name: screen for part in _parts("screening", FEATURES) for name, screen in part.screens().items()}


def exported(user_id: str) -> list[Source]:
    """What features export of a user, also those that are left out."""
    return [source for part in _parts("people", FEATURES) for source in part.sources(user_id)]


def erases() -> list[Step]:
    """How a user is erased from features, also from those that are left out."""
    return [step for part in _parts("people", FEATURES) for step in part.steps()]


def subject_of(row: Item) -> tuple[str, str]:
    """The room and the key of the message that a row of the table of messages is, or is about."""
    for part in _parts("kinds", FEATURES):
        kind: Kind | None = part.KINDS.get(row.get(CHAT.kind_field))
        if kind is not None:
            return kind.place_of(row)
    return row["roomId"], row["timestampSk"]
