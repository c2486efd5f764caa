"""Finds events of erased people, among those that are about to be stored and among dead letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.errors import SecretsUnavailable, StoreUnavailable
from headrace.core.stream import Stream
from headrace.features.people.erasures import DynamoErasures, erasures
from headrace.features.people.hashes import PersonHashes, people_of, person_hashes


def find_erased(
    erasures: DynamoErasures, hashes: PersonHashes, stream: Stream, events: Sequence[tuple[str, Mapping[str, Any]]]
) -> set[int]:
    """Which of ``events`` are of people who were erased after they were accepted; see :data:`.FindErased`."""
    try:
        keys = [{hashes.key(person) for person in people_of(stream, event)} for _, event in events]
    except SecretsUnavailable as error:
        raise StoreUnavailable(error.message) from error
    found = erasures.erased_at(set().union(*keys)) if any(keys) else {}
    return {
        index
        for index, ((accepted_at, _), named) in enumerate(zip(events, keys, strict=True))
        if any(accepted_at <= found.get(key, "") for key in named)
    }


def erased(stream: Stream, events: Sequence[tuple[str, Mapping[str, Any]]]) -> set[int]:
    """A :data:`.FindErased` of the stage."""
    return find_erased(erasures(), person_hashes(), stream, events)
