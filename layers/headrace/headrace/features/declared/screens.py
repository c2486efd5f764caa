"""Keeps the secrets of declared events from operators who look at dead letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.stream import EventScreen, Hidden
from headrace.delivery.records import UNKNOWN_STREAM
from headrace.features.declared.folder import events

WITHHELD = "withheld: a Secret"


def screens() -> dict[str, EventScreen]:
    """What is withheld of the events of each declared stream, and of those that are declared no more."""
    return dict.fromkeys((*events(), UNKNOWN_STREAM), without_secrets)


def without_secrets(events: Sequence[Any]) -> Mapping[int, Hidden]:
    """An :data:`.EventScreen` that withholds what an event has as ``secrets``."""
    return {
        at: Hidden({**event, "secrets": WITHHELD})
        for at, event in enumerate(events)
        if isinstance(event, dict) and event.get("secrets")
    }
