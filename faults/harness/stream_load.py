"""Traffic of the streams other than chat during a fault, and the queries that check it afterwards."""

from __future__ import annotations

import contextlib
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from loadtest.ads.clicks import Click, make_campaign, moment, post_clicks
from loadtest.ads.queries import AdsQueries
from loadtest.client.target import Target
from loadtest.sending.delivery import CountedEvents, Delivery
from loadtest.sending.transports import HttpTransport, Request
from loadtest.ski.queries import SkiQueries
from loadtest.ski.rides import SEASON, Ride, make_season, post_rides
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi

EVENTS = 6_000
CLIENTS = 4
QUERY_EVERY = 1.0
LATE_BY = 600
"""The clicks of a run happened in so many seconds before it."""
ALONE, BATCHES = 10, (20, 100)
"""One ride in ten is posted alone, the others in batches of these sizes."""
BATCH, CLICKS_ALONE = 10, 41
"""Clicks of a batch; one click in 41 is posted alone, which makes one POST in five."""


class Answers(Protocol):
    """The results of all queries."""

    stored: int
    lost: int
    unexpected: int
    wrong: list[str]


class Traffic(Protocol):
    """The events of one run for one stream; each run has different events."""

    scopes: tuple[str, ...]
    post: Request

    def prepare(self, api: HttpApi) -> Sequence[Sequence[Any]]:
        """The events of each request."""
        ...

    def query(self, api: HttpApi) -> None:
        """Query something, so that cached counts exist during the fault."""
        ...

    def check(self, api: HttpApi, sent: Sequence[Any]) -> Answers:
        """Run all queries about ``sent``."""
        ...


class SkiTraffic:
    """Rides of ten resorts."""

    scopes: tuple[str, ...] = ("events:write", "analytics:read")
    post: Request = staticmethod(post_rides)

    def __init__(self, run: int) -> None:
        self._chance = random.Random(run)
        self._season = make_season(EVENTS, run % 900_000)

    def prepare(self, api: HttpApi) -> Sequence[Sequence[Ride]]:
        """Create the seasons; returns the rides in random order, one in ten alone, the others in batches."""
        for resort in self._season.resorts:
            api.post(f"/resorts/{resort}/seasons", {"year": str(SEASON)})
        rides = self._season.rides
        requests = [[ride] for ride in rides[::ALONE]]
        left = [ride for number, ride in enumerate(rides) if number % ALONE]
        while left:
            size = self._chance.randint(*BATCHES)
            requests.append(left[:size])
            left = left[size:]
        self._chance.shuffle(requests)
        return requests

    def query(self, api: HttpApi) -> None:
        """Query a resort's day."""
        ride = self._chance.choice(self._season.rides)
        api.get(f"/resorts/{ride.resort}/seasons/{SEASON}/days/{ride.day}/hours")

    def check(self, api: HttpApi, sent: Sequence[Ride]) -> Answers:
        """Run all queries about the rides that were sent."""
        return SkiQueries(api, self._season.only(sent)).run()


class AdsTraffic:
    """Clicks of the ten minutes before the run: most are late, for minutes that were already counted."""

    scopes: tuple[str, ...] = ("events:write", "analytics:read")
    post: Request = staticmethod(post_clicks)

    def __init__(self, run: int) -> None:
        self._chance = random.Random(run)
        times = range((run - LATE_BY) * 1_000_000, run * 1_000_000, LATE_BY * 1_000_000 // EVENTS)
        self._campaign = make_campaign(run & 0xFFFFFFFF, times)

    def prepare(self, _api: HttpApi) -> Sequence[Sequence[Click]]:
        """The clicks in random order, one POST in five of one click, the others of ten."""
        clicks = list(self._campaign.clicks)
        self._chance.shuffle(clicks)
        single = len(clicks) // CLICKS_ALONE
        requests = [[each] for each in clicks[:single]]
        requests += [clicks[first : first + BATCH] for first in range(single, len(clicks), BATCH)]
        self._chance.shuffle(requests)
        return requests

    def query(self, api: HttpApi) -> None:
        """Query the counts of one ad and the top ads."""
        start, end = self._campaign.window
        window = {"from": moment(start), "to": moment(end)}
        api.get(f"/ads/{self._chance.choice(self._campaign.clicks).ad}/stats", window)
        api.get("/ads/top", window)

    def check(self, api: HttpApi, sent: Sequence[Click]) -> Answers:
        """Run all queries about the clicks that were sent."""
        return AdsQueries(api, self._campaign.only(sent)).run()


class TrafficLoad:
    """Sends in threads, from :meth:`start` to :meth:`stop`, at ``rate`` events per second in total.

    Each request is posted ``times`` times. ``sent`` are the events of fully accepted requests.
    """

    def __init__(self, target: Target, traffic: Traffic, *, rate: float = 240, times: int = 1) -> None:
        self.counted: CountedEvents[Any] = CountedEvents()
        self.sent: list[Any] = []
        self.problems: list[str] = []
        self.api = target.http("faults", *traffic.scopes, connections=CLIENTS + 1, timeout=30.0)
        self._traffic = traffic
        self._rate = rate
        self._times = times
        self._waiting: queue.SimpleQueue[Sequence[Any]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._post, daemon=True) for _ in range(CLIENTS)]
        self._querying = threading.Thread(target=self._query, daemon=True)

    def start(self) -> None:
        """Start sending and querying."""
        for request in self._traffic.prepare(self.api):
            self._waiting.put(request)
        for thread in (*self._threads, self._querying):
            thread.start()

    def finish(self, patience: float) -> None:
        """Wait until everything is sent, or for ``patience`` seconds."""
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        """Stop sending, and wait for outstanding answers."""
        self._stopping.set()
        for thread in (*self._threads, self._querying):
            thread.join(120)
            if thread.is_alive():
                self.problems.append("a client did not end: it waits for an answer")

    def answers(self) -> Answers:
        """Run all queries about what was sent."""
        return self._traffic.check(self.api, self.sent)

    def _post(self) -> None:
        try:
            self._post_all()
        except Exception as error:  # noqa: BLE001 - the scenario fails
            self.problems.append(f"a client gave up: {type(error).__name__}: {error}")

    def _post_all(self) -> None:
        # Only the first of several times is counted.
        first: Delivery[Any] = Delivery(HttpTransport(self.api, self._traffic.post, self.counted.retried), self.counted)
        again: Delivery[Any] = Delivery(HttpTransport(self.api, self._traffic.post, _count_nothing), CountedEvents())
        while not self._stopping.is_set():
            try:
                events = self._waiting.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            if first.send(events) and all(again.send(events) for _ in range(self._times - 1)):
                self.sent.extend(events)
            else:
                self.problems.append(f"not all of {len(events)} events were accepted: {self.counted.errors}")
            pace = len(events) * CLIENTS / self._rate
            self._stopping.wait(max(0.0, began + pace - time.monotonic()))

    def _query(self) -> None:
        while not self._stopping.wait(QUERY_EVERY):
            with contextlib.suppress(HttpError):
                self._traffic.query(self.api)


def _count_nothing(_code: str, _count: int) -> None:
    pass


TRAFFIC: dict[str, Callable[[int], Traffic]] = {"ski": SkiTraffic, "ads": AdsTraffic}
"""By stream; called with a number that is unique to the run."""
