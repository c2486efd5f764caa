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
    return {name: Secrets() for name in (*events(), UNKNOWN_STREAM)}


class Secrets:
    """Withholds what an event has as ``secrets``."""

    def hidden(self, events: Sequence[Any]) -> Mapping[int, Hidden]:
        """See :class:`.EventScreen`."""
        return {
            at: Hidden({**event, "secrets": WITHHELD})
            for at, event in enumerate(events)
            if isinstance(event, dict) and event.get("secrets")
        }
