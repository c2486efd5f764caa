"""Long jobs: how an erasure or an export begins, and its progress. And the task of an erasure.

The row of an erasure is also a tombstone. It says until when a person was erased. An event that was accepted before
then is never stored again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from headrace.core import times

State = Literal["running", "done", "withdrawn"]
RUNNING: State = "running"
DONE: State = "done"
MARGIN = 30.0
"""Seconds that an invocation keeps for its last part and for sending the next slice."""
LOST_AFTER = times.HOUR
"""From so long after its beginning, a request sends the task of a job again: it may have been lost."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of one erasure or export. Times are canonical; ``counts`` are of rows, events or lines.

    ``beside`` is the key of the skier who is erased or exported with a user, or of the owner who asked for a room.
    """

    began_at: str
    state: State
    beside: str | None = None
    done_at: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


T_contra = TypeVar("T_contra", contravariant=True)
T = TypeVar("T")
J_co = TypeVar("J_co", bound=Job, covariant=True)
J = TypeVar("J", bound=Job)


class Jobs(Protocol[J_co]):
    """Stores erasures, or exports, by the key of their person or room. Every method may raise StoreUnavailable."""

    def get(self, key: str) -> J_co | None:
        """The last job."""

    def begin(self, key: str, at: str, beside: str | None) -> J_co:
        """Begin a job at ``at``, unless one is running, or was begun then or later. Returns the last one."""


class TaskQueue(Protocol[T_contra]):
    """Holds the next slices of erasures, or of exports."""

    def send(self, task: T_contra, delay: int = 0) -> None:
        """Send a slice, which begins after ``delay`` seconds (at most 900). Raises RetryLaneUnavailable."""


def requested(
    jobs: Jobs[J], queue: TaskQueue[T], key: str, now: int, beside: str | None, task: Callable[[str], T]
) -> J:
    """The job that runs, or a new one that begins at ``now`` (microseconds). ``task`` makes its task for a time."""
    job = jobs.get(key)
    if job is None or job.state != RUNNING:
        at = times.iso(now)
        # First the task, which also begins the job: if the request ends in between, it is not forgotten.
        queue.send(task(at))
        return jobs.begin(key, at, beside)
    if job.beside == beside and job.began_at < times.iso(now - LOST_AFTER):
        queue.send(task(job.began_at))
    return job


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


class Tombstones(Protocol):
    """Says who was erased. May raise StoreUnavailable."""

    def erased_at(self, keys: Collection[str]) -> dict[str, str]:
        """When people were erased last, by their keys; others are left out."""
