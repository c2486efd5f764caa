"""The features and the streams of this stage, and the parts of features that the core asks for."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from types import ModuleType

from headrace.api.router import Route
from headrace.core.feature import Feature, chosen
from headrace.core.items import Item
from headrace.core.stream import EventScreen, Gate, Hook, Kind, Stream
from headrace.erasure.tasks import Step
from headrace.exports.lines import Source
from headrace.features import edits, reactions
from headrace.runtime.settings import FeatureSettings
from headrace.services.shared import attachments
from headrace.streams.ads.stream import ADS
from headrace.streams.chat.attachments.files import ATTACHMENTS
from headrace.streams.chat.messages.known import Complete
from headrace.streams.chat.stream import CHAT
from headrace.streams.chat.told import Tells
from headrace.streams.probe import PROBE
from headrace.streams.ski.stream import SKI

FEATURES: tuple[Feature, ...] = (edits.FEATURE, reactions.FEATURE)
"""All features, in the order of their hooks."""
CHOSEN = chosen(FEATURES, FeatureSettings.read().features)
"""Those of this stage."""


def _module(feature: Feature, name: str) -> ModuleType:
    return import_module(f"headrace.features.{feature.name}.{name}")


def _parts(part: str, features: Sequence[Feature] = CHOSEN) -> list[ModuleType]:
    return [_module(each, each.parts[part]) for each in features if part in each.parts]


def _kinds() -> dict[str, Kind]:
    """The kinds of changes of messages, by how they change them."""
    return {how: kind for part in _parts("kinds") for how, kind in part.KINDS.items()}


STREAMS: dict[str, Stream] = {stream.name: stream for stream in (replace(CHAT, kinds=_kinds()), PROBE, SKI, ADS)}
"""The streams by name. A new stream is one folder in ``streams`` and one line here."""


def actions() -> list[str]:
    """The actions that features add to the WebSocket API."""
    return [action for feature in CHOSEN for action in feature.actions]


def routes_of(function: str) -> dict[str, Route]:
    """The routes that features add to a function."""
    found: dict[str, Route] = {}
    for feature in CHOSEN:
        if function in feature.routes:
            found |= _module(feature, feature.routes[function]).ROUTES[function]
    return found


@functools.cache
def gates_of(kind: str) -> tuple[Gate, ...]:
    """The gates of features for events of a kind; they are imported for the first one."""
    return tuple(_module(each, each.parts["accepting"]).gate() for each in CHOSEN if kind in each.gates)


def hooks_before() -> list[tuple[str, Hook]]:
    """What features do before rows are stored."""
    return [hook for part in _parts("storing") for hook in part.before()]


def hooks_after() -> list[tuple[str, Hook]]:
    """What features do after rows are stored."""
    return [hook for part in _parts("storing") for hook in part.after(remove)]


@functools.cache
def completes() -> list[Complete]:
    """What gives a message that was awaited what features kept for it."""
    return [functools.partial(part.complete, remove) for part in _parts("storing")]


def remove(message: Item) -> None:
    """Delete what features keep beside a message, also those that are left out. May raise StoreUnavailable."""
    if ATTACHMENTS in message:
        attachments().delete(message)
    for part in _parts("storing", FEATURES):
        part.remove(message)


def tells() -> list[Tells]:
    """What features tell others of a change of a message's row."""
    return [part.told for part in _parts("telling")]


def told_types() -> tuple[str, ...]:
    """The types of what features tell others, also those that are left out: a stage may name them."""
    return tuple(each for feature in FEATURES for each in feature.tells)


def screens() -> dict[str, EventScreen]:
    """What keeps out of sight what people took back, by stream, also for features that are left out."""
    return {name: screen for part in _parts("screening", FEATURES) for name, screen in part.screens().items()}


def exported(user_id: str) -> list[Source]:
    """What features export of a user, also those that are left out."""
    return [source for part in _parts("people", FEATURES) for source in part.sources(user_id)]


def erases() -> list[Step]:
    """How a user is erased from features, also from those that are left out."""
    return [step for part in _parts("people", FEATURES) for step in part.steps()]


def place_of(row: Item) -> tuple[str, str]:
    """The room and the key of the message that a row of the table of messages is, or is about."""
    for part in _parts("kinds", FEATURES):
        kind: Kind | None = part.KINDS.get(row.get(CHAT.kind_field))
        if kind is not None:
            return kind.place_of(row)
    return row["roomId"], row["timestampSk"]
