"""The users of one worker, which wait for the next phase."""

from __future__ import annotations

import threading
from collections import Counter

from loadtest.client.target import Target
from loadtest.runs.phase_run import AnyWork, PhaseRun
from loadtest.runs.place import Place
from loadtest.shapes.shape import Phase


class Crew:
    """Registers users and hands phases to them. Safe to share between threads and greenlets."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.current: PhaseRun | None = None
        self._users: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._work: AnyWork | None = None

    def register(self, kind: str) -> int:
        """Add a user of ``kind``; return its number among those of the same kind, from 0."""
        with self._changed:
            self._users[kind] += 1
            return self._users[kind] - 1

    @property
    def size(self) -> int:
        """How many users were registered."""
        return self._users.total()

    def begin(self, phase: Phase, place: Place) -> PhaseRun:
        """Hand ``phase`` to the users.

        Raises:
            localstage.client.errors.ClientError: there is no token for it.
        """
        run = PhaseRun(phase, place, self.target, self._users, self._work)
        self._work = run.work
        with self._changed:
            self.current = run
            self._changed.notify_all()
        return run

    def next_after(self, number: int) -> PhaseRun:
        """Wait for a phase with a higher number than ``number``."""
        with self._changed:
            self._changed.wait_for(lambda: self.current is not None and self.current.place.number > number)
            assert self.current is not None  # noqa: S101 - for mypy: just waited for
            return self.current
