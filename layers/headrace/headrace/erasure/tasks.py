"""An erasure: the request, its progress, and the tombstone that it leaves.

A tombstone says until when a person was erased. An event that was accepted before then is never stored again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

State = Literal["running", "done"]
RUNNING: State = "running"
DONE: State = "done"
PART = 100
"""Rows that are erased before the progress is looked at."""
AT_ONCE = 2
"""Rows that are erased at the same time: few, for the reads of others."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """What is known of one erasure. Times are canonical; ``counts`` are of rows and events, by where they were.

    ``skier`` is the key of the skier who is erased with the user, if any.
    """

    erased_at: str
    state: State
    done_at: str | None = None
    skier: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """One slice of an erasure: the ``step`` of a ``round`` at which it begins.

    The first round erases what there is. The second one follows when every event that was accepted before the erasure
    is either stored or will be refused. With an archive, a third one tidies it.
    """

    user_id: str
    skier_id: str | None
    erased_at: str
    round: int = 1
    step: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """Who is erased: a user, and maybe the skier that the user is. Pseudonyms replace their ids in rows that stay."""

    user_id: str
    skier_id: str | None
    erased_at: str
    pseudonym: str
    skier_pseudonym: str
    is_last: bool = False
    """Whether it is the last round: what leads to other rows is deleted only now."""


Progress = Generator[tuple[str, int], None, None]
"""A name for the counts, and how many, after each small part of the work."""
Step = Callable[[Target], Progress]
"""Erases what is left in one place.

A step that ends early begins again, so what it has erased must not be found a second time.
"""


class Tombstones(Protocol):
    """Says who was erased. May raise StoreUnavailable."""

    def erased_at(self, keys: Collection[str]) -> dict[str, str]:
        """When people were erased last, by their keys; others are left out."""


class Erasures(Tombstones, Protocol):
    """Stores erasures by the key of their person. Every method may raise StoreUnavailable."""

    def begin(self, key: str, at: str, skier: str | None = None) -> Erasure:
        """Begin an erasure at ``at``, unless one is running, or was begun then or later. Returns the last one."""

    def bury(self, key: str, at: str) -> None:
        """Leave a tombstone alone, without a task: for another person that an erasure names."""

    def get(self, key: str) -> Erasure | None:
        """The last erasure of a person."""

    def add(self, key: str, erased_at: str, counts: Mapping[str, int]) -> None:
        """Add to the counts of the erasure that began at ``erased_at``."""

    def finish(self, key: str, erased_at: str, at: str) -> None:
        """End the erasure that began at ``erased_at``. An earlier one changes nothing."""


T_contra = TypeVar("T_contra", contravariant=True)


class TaskQueue(Protocol[T_contra]):
    """Holds the next slices of erasures, or of exports."""

    def send(self, task: T_contra, delay: int = 0) -> None:
        """Send a slice, which begins after ``delay`` seconds (at most 900). Raises RetryLaneUnavailable."""
