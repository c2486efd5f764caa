"""Posts that begin when they are due, not when the answer before them is there: an open loop.

A client that waits for answers sends less while the stage stalls, and so measures the stall once. Here every POST has
its time, and its answer counts from then: whoever would have had to wait is in the numbers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from loadtest.sending.http_sender import Account, Event, Parcel, Poster
from localstage.client.http_api import HttpApi


@dataclass(frozen=True)
class Due(Generic[Event]):
    """A parcel that is to be posted ``at`` seconds of the run; ``repeated`` if it was due before."""

    at: float
    parcel: Parcel[Event]
    repeated: bool = False


class Paced(Generic[Event]):
    """Posts what is due over at most ``connections`` connections. ``clock`` and ``pause`` are of seconds."""

    def __init__(
        self,
        api: HttpApi,
        account: Account,
        connections: int,
        *,
        clock: Callable[[], float] = time.perf_counter,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._api = api
        self._account = account
        self._connections = connections
        self._clock = clock
        self._pause = pause
        self._lock = threading.Lock()

    def run(self, dues: Sequence[Due[Event]], began: float, answered: Callable[[int], object]) -> None:
        """Post ``dues``, which are in the order of their times, in a run that begins at ``began``; and wait.

        ``answered`` is told of how many events it is over with.
        """
        waiting = iter(dues)
        threads = [
            threading.Thread(target=self._post, args=(waiting, began, answered), daemon=True)
            for _ in range(self._connections)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _post(self, waiting: Iterator[Due[Event]], began: float, answered: Callable[[int], object]) -> None:
        poster = Poster(self._api, self._account, pause=self._pause, clock=self._clock)
        while (due := self._next(waiting)) is not None:
            early = began + due.at - self._clock()
            if early > 0:
                self._pause(early)
            poster.post(due.parcel, repeated=due.repeated, due=began + due.at)
            if not due.repeated:
                answered(len(due.parcel.events))

    def _next(self, waiting: Iterator[Due[Event]]) -> Due[Event] | None:
        with self._lock:
            return next(waiting, None)
