"""Sends rides from many clients, asks every question, and says what came of it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence

from rich.console import Console

from loadtest.chat import display
from loadtest.client.target import Target
from loadtest.sending import queue_depths as depths
from loadtest.sending.demo_result import Outcome, ask, show, show_statistics
from loadtest.sending.http_sender import Account, Parcel, Poster
from loadtest.ski.questions import Questions
from loadtest.ski.rides import SEASON, Ride, Season, dealt, make_season
from localstage.client.http_api import HttpApi

RIDES = 20_000
FIRST_CLIENTS, MORE_CLIENTS = 32, 168
"""As in the assignment that made the ski resort known: the others begin when the first of 32 is done."""
STEADY = (128, 256)
"""Afterwards, with so many clients each: a tenth as many rides again."""
ALONE = 10
"""One ride in so many is posted alone, the others in batches."""
BATCHES = (20, 100)
REPEATED = 20
"""One POST in so many is sent a second time, as a client does that missed its answer."""
FEWEST_RIDES, MOST_RIDES = 1_000, 700_000


def run(target: Target, console: Console, rides: int) -> Outcome:
    """Send ``rides`` rides and a tenth as many for each of the steady phases, and ask.

    Raises:
        ClientError: nobody can sign in, or a question is not answered.
    """
    name = int(time.time()) % 900_000
    season = make_season(rides + len(STEADY) * (rides // 10), name)
    api = target.http("ski-demo", "events:write", "analytics:read", connections=max(STEADY), timeout=30.0)
    operator = target.http("ski-demo", "ops")
    account = Account()
    watch = depths.Depths(operator, lambda: account.accepted)
    sending = Sending(api, account, watch, random.Random(name))
    for resort in season.resorts:
        for _ in range(2):
            api.post(f"/resorts/{resort}/seasons", {"year": str(SEASON), "resortName": f"Resort {resort}"})
    console.print(
        f"{len(season.rides):,} rides of {len(season.of_skiers()):,} skiers on {len(season.of_days())} resort days"
    )
    seconds = _send(sending, season, rides, console)
    console.print(depths.table(watch.samples, "rides"))
    findings = ask(console, watch, Questions(api, season))
    outcome = Outcome(len(season.rides), account, findings)
    show(console, outcome, "rides", seconds)
    show_statistics(console, api)
    for each in (api, operator):
        each.close()
    return outcome


class Sending:
    """Clients in phases, each a thread that posts its rides one after the other."""

    def __init__(self, api: HttpApi, account: Account, watch: depths.Depths, chance: random.Random) -> None:
        self._api = api
        self._account = account
        self.watch = watch
        self._chance = chance

    def opening(self, rides: Sequence[Ride], answered: Callable[[int], object]) -> None:
        """32 clients, and 168 more when the first of them is done."""
        hands = dealt(rides, FIRST_CLIENTS + MORE_CLIENTS, self._chance)
        first_done = threading.Event()
        self.watch.phase = f"{FIRST_CLIENTS} clients"
        first = self._clients(hands[:FIRST_CLIENTS], answered, first_done.set)
        first_done.wait()
        self.watch.phase = f"{MORE_CLIENTS} more"
        for thread in first + self._clients(hands[FIRST_CLIENTS:], answered):
            thread.join()

    def steady(self, rides: Sequence[Ride], clients: int, answered: Callable[[int], object]) -> None:
        """``clients`` clients at once."""
        self.watch.phase = f"{clients} clients"
        for thread in self._clients(dealt(rides, clients, self._chance), answered):
            thread.join()

    def _clients(
        self,
        hands: Sequence[Sequence[Ride]],
        answered: Callable[[int], object],
        done: Callable[[], object] = lambda: None,
    ) -> list[threading.Thread]:
        def post(parcels: Sequence[Parcel[Ride]], repeated: set[int]) -> None:
            poster = Poster(self._api, self._account)
            try:
                for number, parcel in enumerate(parcels):
                    poster.post(parcel)
                    if number in repeated:
                        poster.post(parcel, repeated=True)
                    answered(len(parcel.events))
            finally:
                done()

        threads = []
        for hand in hands:
            parcels = wrapped(hand, self._chance)
            repeated = {number for number in range(len(parcels)) if self._chance.randrange(REPEATED) == 0}
            threads.append(threading.Thread(target=post, args=(parcels, repeated), daemon=True))
        for thread in threads:
            thread.start()
        return threads


def wrapped(rides: Sequence[Ride], chance: random.Random) -> list[Parcel[Ride]]:
    """One ride in ten alone, the others in batches of 20 to 100, mixed."""
    alone = [Parcel(ride.path(), [ride], lambda left: left[0].body()) for ride in rides[::ALONE]]
    left = [ride for number, ride in enumerate(rides) if number % ALONE]
    batches = []
    while left:
        size = chance.randint(*BATCHES)
        batches.append(
            Parcel("/lift-rides/batch", left[:size], lambda many: {"events": [each.whole() for each in many]})
        )
        left = left[size:]
    parcels = alone + batches
    chance.shuffle(parcels)
    return parcels


def _send(sending: Sending, season: Season, rides: int, console: Console) -> float:
    began = time.perf_counter()
    sending.watch.start()
    left = list(season.rides[rides:])
    part = len(left) // len(STEADY)
    with display.progress_bar(console, "sent", len(season.rides)) as answered:
        sending.opening(season.rides[:rides], answered)
        for number, clients in enumerate(STEADY):
            sending.steady(left[number * part : (number + 1) * part], clients, answered)
    seconds = time.perf_counter() - began
    sending.watch.finish()
    return seconds
