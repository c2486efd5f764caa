"""Finds events of erased people among those that are about to be stored.

Only an event that was accepted a minute ago or earlier (``ErasureAgeSeconds``) is looked up, and most are stored within
a second. A younger one needs no look: the second round of an erasure begins when every event that was accepted before
it is stored, or that old.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import times
from headrace.core.errors import SecretsUnavailable, StoreUnavailable
from headrace.core.stream import Stream
from headrace.core.times import Clock
from headrace.features.people.hashes import PersonHashes, people_of
from headrace.features.people.jobs import Tombstones


class ErasureScreen:
    """Looks up the people that events name, when these were accepted ``age`` seconds ago or earlier."""

    def __init__(self, tombstones: Tombstones, hashes: PersonHashes, clock: Clock, age: int) -> None:
        self._age = age * times.SECOND
        self._tombstones = tombstones
        self._hashes = hashes
        self._clock = clock

    @property
    def oldest_unseen(self) -> str:
        """The canonical time from which on accepted events are not looked up."""
        return times.iso(self._clock.now() - self._age)

    def erased(self, stream: Stream, events: Sequence[tuple[str, Mapping[str, Any]]]) -> set[int]:
        """Which of ``events`` are of people who were erased after they were accepted, by index.

        Each event comes after the canonical time of its acceptance.

        Raises:
            StoreUnavailable: this cannot be known now.
        """
        try:
            keys = [{self._hashes.key(person) for person in people_of(stream, event)} for _, event in events]
        except SecretsUnavailable as error:
            raise StoreUnavailable(error.message) from error
        found = self._tombstones.erased_at(set().union(*keys)) if any(keys) else {}
        return {
            index
            for index, ((accepted_at, _), named) in enumerate(zip(events, keys, strict=True))
            if any(accepted_at <= found.get(key, "") for key in named)
        }
