"""Which part of a run a worker does."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Worker ``worker`` of ``workers``, from 0, in phase ``number`` of the run ``run``, which has a unique name.

    ``last``: no later phase sends events.
    """

    run: str
    number: int
    last: bool = True
    worker: int = 0
    workers: int = 1

    def share(self, total: int) -> int:
        """This worker's share of ``total``; all shares together are ``total``."""
        return total // self.workers + (self.worker < total % self.workers)

    @property
    def unique(self) -> int:
        """A number under 900,000 that another phase, worker or run is unlikely to have."""
        return random.Random(f"{self.run}/{self.number}/{self.worker}").randrange(900_000)
