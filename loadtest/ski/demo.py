"""Sends lift rides from many clients, runs every query, and compares the answers with what was sent."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence

from rich.console import Console

from loadtest.client.target import Target
from loadtest.sending.demo_result import DemoResult, check
from loadtest.sending.http_sender import HttpSender, PostRequest, SendStatistics
from loadtest.sending.progress import progress_bar
from loadtest.sending.queue_depths import QueueDepths
from loadtest.ski.queries import CLIENTS, SkiQueries
from loadtest.ski.rides import SEASON, Ride, Season, make_season, post_batch, post_single, shuffled_parts
from localstage.client.http_api import HttpApi

RIDES = 20_000
FIRST_CLIENTS, MORE_CLIENTS = 32, 168
"""The load of the original ski-resort assignment: 168 clients start when the first of 32 is done."""
STEADY = (128, 256)
"""Numbers of clients of the phases that follow. Each sends a tenth as many rides."""
SINGLE = 10
"""One ride in ten is posted alone, the others in batches."""
BATCHES = (20, 100)
"""Smallest and largest batch."""
REPEATED = 20
"""One POST in twenty is sent a second time, as a client does that missed the answer."""
FEWEST_RIDES, MOST_RIDES = 1_000, 700_000


def run(target: Target, console: Console, rides: int) -> DemoResult:
    """Send ``rides`` rides and a tenth as many in each of the steady phases, then run all queries.

    Raises:
        ClientError: no token, or a query is not answered.
    """
    name = int(time.time()) % 900_000
    season = make_season(rides + len(STEADY) * (rides // 10), name)
    sender = target.http("ski-demo", "events:write", connections=max(STEADY), timeout=30.0)
    api = target.http("ski-demo", "analytics:read", connections=CLIENTS, timeout=30.0)
    statistics = SendStatistics()
    depths = QueueDepths(target.operator("ski-demo"), lambda: statistics.accepted)
    for _ in range(2):
        add_resorts(sender, season)
    console.print(
        f"{len(season.rides):,} rides of {len(season.by_skier()):,} skiers on {len(season.by_day())} resort days"
    )
    clients = Clients(HttpSender(sender, statistics), depths, random.Random(name))
    seconds = _send(clients, season, rides, console)
    queries = SkiQueries(api, season)
    result = check(console, api, queries, len(season.rides), statistics, depths, events="rides", seconds=seconds)
    for each in (sender, api):
        each.close()
    return result


def add_resorts(api: HttpApi, season: Season) -> None:
    """Add the resorts of ``season``."""
    for resort in season.resorts:
        api.post(f"/resorts/{resort}/seasons", {"year": str(SEASON), "resortName": f"Resort {resort}"})


class Clients:
    """Clients in phases; each is a thread that posts its rides one after the other."""

    def __init__(self, sender: HttpSender, depths: QueueDepths, chance: random.Random) -> None:
        self._sender = sender
        self.depths = depths
        self._chance = chance

    def opening(self, rides: Sequence[Ride], advance: Callable[[int], object]) -> None:
        """32 clients, and 168 more when the first of them is done."""
        parts = shuffled_parts(rides, FIRST_CLIENTS + MORE_CLIENTS, self._chance)
        first_done = threading.Event()
        self.depths.phase = f"{FIRST_CLIENTS} clients"
        first = self._start(parts[:FIRST_CLIENTS], advance, first_done.set)
        first_done.wait()
        self.depths.phase = f"{MORE_CLIENTS} more"
        for thread in first + self._start(parts[FIRST_CLIENTS:], advance):
            thread.join()

    def steady(self, rides: Sequence[Ride], clients: int, advance: Callable[[int], object]) -> None:
        """``clients`` clients at once."""
        self.depths.phase = f"{clients} clients"
        for thread in self._start(shuffled_parts(rides, clients, self._chance), advance):
            thread.join()

    def _start(
        self,
        parts: Sequence[Sequence[Ride]],
        advance: Callable[[int], object],
        done: Callable[[], object] = lambda: None,
    ) -> list[threading.Thread]:
        def post(requests: Sequence[PostRequest[Ride]], repeated: set[int]) -> None:
            try:
                for number, request in enumerate(requests):
                    self._sender.send(request)
                    if number in repeated:
                        self._sender.send(request, repeated=True)
                    advance(len(request.events))
            finally:
                done()

        threads = []
        for rides in parts:
            requests = post_requests(rides, self._chance)
            repeated = {number for number in range(len(requests)) if self._chance.randrange(REPEATED) == 0}
            threads.append(threading.Thread(target=post, args=(requests, repeated), daemon=True))
        for thread in threads:
            thread.start()
        return threads


def post_requests(rides: Sequence[Ride], chance: random.Random) -> list[PostRequest[Ride]]:
    """``rides`` as POSTs in random order: one in ten alone, the others in batches of 20 to 100."""
    requests = [post_single(ride) for ride in rides[::SINGLE]]
    left = [ride for number, ride in enumerate(rides) if number % SINGLE]
    while left:
        size = chance.randint(*BATCHES)
        requests.append(post_batch(left[:size]))
        left = left[size:]
    chance.shuffle(requests)
    return requests


def _send(clients: Clients, season: Season, rides: int, console: Console) -> float:
    """Send the season in its phases; return the seconds."""
    began = time.perf_counter()
    clients.depths.start()
    left = list(season.rides[rides:])
    part = len(left) // len(STEADY)
    with progress_bar(console, "sent", len(season.rides)) as advance:
        clients.opening(season.rides[:rides], advance)
        for number, count in enumerate(STEADY):
            clients.steady(left[number * part : (number + 1) * part], count, advance)
    seconds = time.perf_counter() - began
    clients.depths.finish()
    return seconds
