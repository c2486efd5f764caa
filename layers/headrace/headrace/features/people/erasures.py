"""Erasures in the Erasures table: one row per erased person or deleted room, which is also the tombstone.

It says until when a person was erased. An event that was accepted before then is never stored again.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from headrace.core.errors import SecretsUnavailable, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.features.people.hashes import ROOM, USER, ErasureSettings, Person, PersonHashes, people_of, person_hashes
from headrace.features.people.jobs import DONE, STATE_NAME, DynamoJobs, Job, TaskQueue
from headrace.runtime.aws import client
from headrace.runtime.settings import ScreenSettings
from headrace.services.shared import dynamodb
from headrace.streams.chat.rooms.rooms import free_from

_COUNT = "count:"
"""How the attributes with counts begin."""
_SAME = "erasedAt = :erasedAt"


class ErasureTaskSettings(ErasureSettings, ScreenSettings):
    """Where erasures wait for their next slice."""

    erasure_queue_url: str = Field(description="the URL of the ErasureQueue")
    """Queue of erasures."""
    persist_timeout_seconds: int = Field(default=60, ge=15, le=60)
    """Time limit of ``persist_events``, for which an erasure waits."""
    archive_window_seconds: int = Field(default=60, ge=2, le=300)
    """How long changes are collected before they are archived. An erasure waits for them."""


@dataclass(frozen=True, slots=True)
class Task:
    """One slice of an erasure, or of the deletion of a room: the ``step`` of a ``round`` at which it begins.

    The first round erases what there is. The second one follows when every event that was accepted before the erasure
    is either stored or will be refused. With an archive, a third one tidies it.
    """

    user_id: str
    skier_id: str | None
    erased_at: str
    round: int = 1
    step: int = 0
    room_id: str = ""
    owner: str | None = None
    """The key of the owner who deletes the room."""

    @property
    def person(self) -> Person:
        """Who is erased."""
        return Person(ROOM, self.room_id) if self.room_id else Person(USER, self.user_id)


class DynamoErasures(DynamoJobs[Job]):
    """Erasures by the key of their person."""

    kind, began_at, beside = "erasures", "erasedAt", "skier"

    def erased_at(self, keys: Collection[str]) -> dict[str, str]:
        """When people were erased last, by their keys; others are left out."""
        rows = self._table.get_many([self._key(key) for key in sorted(keys)])
        return {row["person"]: row["erasedAt"] for row in rows}

    def bury(self, key: str, at: str) -> None:
        """Leave a tombstone alone, without a task: for another person that an erasure names."""
        condition = "attribute_not_exists(erasedAt) OR erasedAt < :at"
        expression = "SET erasedAt = :at, #state = :done"
        self._table.update_if(condition, self._key(key), expression, {":at": at, ":done": DONE}, **STATE_NAME)

    def add(self, key: str, erased_at: str, counts: Mapping[str, int]) -> None:
        """Add to the counts of the erasure that began at ``erased_at``."""
        names = {f"#c{number}": _COUNT + name for number, name in enumerate(counts)}
        values: Item = {f":c{number}": count for number, count in enumerate(counts.values())}
        added = ", ".join(f"#c{number} :c{number}" for number in range(len(counts)))
        self._table.update_if(
            _SAME, self._key(key), f"ADD {added}", {**values, ":erasedAt": erased_at}, ExpressionAttributeNames=names
        )

    def finish(self, key: str, erased_at: str, at: str) -> None:
        """End the erasure that began at ``erased_at``. An earlier one changes nothing."""
        values = {":erasedAt": erased_at, ":done": DONE, ":at": at}
        self._table.update_if(_SAME, self._key(key), "SET #state = :done, doneAt = :at", values, **STATE_NAME)

    def _job(self, row: Item) -> Job:
        counts = {name.removeprefix(_COUNT): count for name, count in row.items() if name.startswith(_COUNT)}
        return Job(row["erasedAt"], row["state"], row.get("skier"), row.get("doneAt"), dict(sorted(counts.items())))


def erasure_queue() -> TaskQueue:
    """Holds the next slices of erasures."""
    return TaskQueue(ErasureTaskSettings.read().erasure_queue_url, client("sqs"), "erasures")


@functools.cache
def erasures() -> DynamoErasures:
    """The erasures of the stage."""
    return DynamoErasures(dynamodb(), ErasureSettings.read().erasures_table)


def find_erased(
    erasures: DynamoErasures, hashes: PersonHashes, stream: Stream, events: Sequence[tuple[str, Mapping[str, Any]]]
) -> set[int]:
    """Which of ``events`` are of people who were erased after they were accepted; see :data:`.FindErased`.

    Of a deleted room, it is those that were accepted until its id was free.
    """
    try:
        keys = [{hashes.key(person): person for person in people_of(stream, event)} for _, event in events]
    except SecretsUnavailable as error:
        raise StoreUnavailable(error.message) from error
    found = erasures.erased_at(set().union(*keys)) if any(keys) else {}
    return {
        index
        for index, ((accepted_at, _), named) in enumerate(zip(events, keys, strict=True))
        if any(key in found and accepted_at <= _until(person, found[key]) for key, person in named.items())
    }


def _until(person: Person, erased_at: str) -> str:
    return free_from(person.id, erased_at) if person.kind == ROOM else erased_at


def erased(stream: Stream, events: Sequence[tuple[str, Mapping[str, Any]]]) -> set[int]:
    """A :data:`.FindErased` of the stage."""
    return find_erased(erasures(), person_hashes(), stream, events)
