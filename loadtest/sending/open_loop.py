"""An open loop: each POST starts at its scheduled time, whether or not earlier ones were answered.

A client that waits for answers sends less while the stage stalls, so it measures the stall once. Here latency counts
from the scheduled time, so it includes the delay of every POST that a stall delays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from loadtest.sending.http_sender import Event, HttpSender, PostRequest, Recorder
from loadtest.sending.threads import in_threads
from localstage.client.http_api import HttpApi


@dataclass(frozen=True)
class ScheduledRequest(Generic[Event]):
    """A request to post ``at`` seconds of the run; ``repeated`` if its events were scheduled before."""

    at: float
    request: PostRequest[Event]
    repeated: bool = False


class OpenLoop(Generic[Event]):
    """Posts a schedule over at most ``connections`` connections. ``clock`` and ``pause`` are in seconds."""

    def __init__(
        self,
        api: HttpApi,
        recorder: Recorder,
        connections: int,
        *,
        clock: Callable[[], float] = time.perf_counter,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._sender = HttpSender(api, recorder, pause=pause, clock=clock)
        self._connections = connections
        self._clock = clock
        self._pause = pause

    def run(self, schedule: Sequence[ScheduledRequest[Event]], began: float, advance: Callable[[int], object]) -> None:
        """Post ``schedule``, which is in order of time, in a run that begins at ``began``; return when all are done.

        ``advance`` is called with the number of events of each request that is done.
        """

        def post(each: ScheduledRequest[Event]) -> None:
            due = began + each.at
            early = due - self._clock()
            if early > 0:
                self._pause(early)
            self._sender.send(each.request, repeated=each.repeated, due=due)
            if not each.repeated:
                advance(len(each.request.events))

        in_threads(post, schedule, self._connections)
