"""Sends clicks at a constant rate with a burst at the end, runs every query, and compares the answers."""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console

from loadtest.ads.clicks import Campaign, Click, make_campaign, post_batch
from loadtest.ads.queries import CLIENTS, AdsQueries
from loadtest.checker.verdict import Latency, milliseconds
from loadtest.client.target import Target
from loadtest.sending.demo_result import DemoResult, check
from loadtest.sending.http_sender import SendStatistics
from loadtest.sending.open_loop import OpenLoop, ScheduledRequest
from loadtest.sending.progress import progress_bar
from loadtest.sending.queue_depths import QueueDepths

SECONDS = 60
FEWEST_SECONDS, MOST_SECONDS = 12, 600
RATE, BURST_RATE, BURST_SECONDS = 1_000, 1_200, 10
"""Clicks per second; clicks per second of the burst; seconds of the burst."""
BATCH = 10
CONNECTIONS = 32
REPEATED, REPEATED_AFTER = 20, 0.25
"""One POST in twenty is sent again after 0.25 s, whether or not it was answered."""
WARM_AFTER = 5.0
"""Seconds at the start in which environments start cold. The latency of later answers is printed separately."""
AIM = 0.050
"""The p99 that answers should stay below, in seconds."""


def run(target: Target, console: Console, seconds: int) -> DemoResult:
    """Send clicks for ``seconds``, then run all queries.

    Raises:
        ClientError: no token, or a query is not answered.
    """
    sender = target.http("ads-demo", "events:write", connections=CONNECTIONS, timeout=30.0)
    api = target.http("ads-demo", "analytics:read", connections=CLIENTS, timeout=30.0)
    statistics = SendStatistics()
    depths = QueueDepths(target.operator("ads-demo"), lambda: statistics.accepted)
    plan = make_plan(seconds)
    clicks = plan.campaign.clicks
    console.print(
        f"{len(clicks):,} clicks of {len(plan.campaign.by_user):,} users on {len(plan.campaign.by_ad)} ads, "
        f"{_size(clicks[:BATCH]):.0f} bytes each on the broker"
    )
    sending = PlanRun(OpenLoop(sender, statistics, CONNECTIONS), statistics, depths)
    took = sending.run(plan, console)
    queries = AdsQueries(api, plan.campaign)
    result = check(console, api, queries, len(clicks), statistics, depths, events="clicks", seconds=took)
    console.print(f"\n{sending.latency()}", soft_wrap=True)
    for each in (sender, api):
        each.close()
    return result


@dataclass(frozen=True)
class Plan:
    """What is sent when. The run begins at ``starts`` (epoch seconds), its burst ``burst_at`` seconds later."""

    starts: float
    burst_at: float
    campaign: Campaign
    schedule: Sequence[ScheduledRequest[Click]]


def make_plan(seconds: int, now: float | None = None) -> Plan:
    """Plan a run of ``seconds``, which begins two seconds after it is planned."""
    now = time.time() if now is None else now
    offsets = click_times(seconds)
    # Clicks contain their times, so the run begins after the time that it takes to generate all of them.
    starts = now + 2 + len(offsets) / 25_000
    campaign = make_campaign(int(now) & 0xFFFFFFFF, (round((starts + offset) * 1e6) for offset in offsets))
    # A batch is sent when the last of its clicks has happened.
    schedule = [
        ScheduledRequest(offsets[first + BATCH - 1], post_batch(campaign.clicks[first : first + BATCH]))
        for first in range(0, len(offsets), BATCH)
    ]
    chance = random.Random(campaign.name)
    schedule += [
        ScheduledRequest(each.at + REPEATED_AFTER, each.request, repeated=True)
        for each in schedule
        if chance.randrange(REPEATED) == 0
    ]
    return Plan(starts, seconds - BURST_SECONDS, campaign, sorted(schedule, key=lambda each: each.at))


def click_times(seconds: int) -> list[float]:
    """The time of each click, in seconds of the run."""
    steady = seconds - BURST_SECONDS
    before = [number / RATE for number in range(RATE * steady)]
    return before + [steady + number / BURST_RATE for number in range(BURST_RATE * BURST_SECONDS)]


def _size(clicks: Sequence[Click]) -> float:
    """Bytes of a click on the broker, in a request with ``clicks``."""
    # Imported here, because nothing else in this module needs the layer.
    from loadtest.ads.click_size import bytes_on_the_broker

    return bytes_on_the_broker([each.event() for each in clicks]) / len(clicks)


class PlanRun:
    """Sends a plan, and separates the answers after the cold starts from those before."""

    def __init__(self, loop: OpenLoop[Click], statistics: SendStatistics, depths: QueueDepths) -> None:
        self._loop = loop
        self._statistics = statistics
        self._depths = depths
        self._cold = 0

    def run(self, plan: Plan, console: Console) -> float:
        """Send everything; return the seconds that it took."""
        gc.collect()
        gc.freeze()  # a collection of so many clicks would pause this process, and look like latency of the stage
        began = time.perf_counter() + plan.starts - time.time()
        self._depths.phase = f"{RATE:,}/s"
        self._depths.start()
        self._at(plan.starts + WARM_AFTER, self._warm)
        self._at(plan.starts + plan.burst_at, self._burst)
        with progress_bar(console, "sent", len(plan.campaign.clicks)) as advance:
            self._loop.run(plan.schedule, began, advance)
        took = time.perf_counter() - began
        self._depths.finish()
        gc.unfreeze()
        return took

    def latency(self) -> str:
        """The line that compares the latency with the aim."""
        warm = Latency.of(self._statistics.seconds[self._cold :])
        return (
            f"answers p99={milliseconds(self._statistics.latency.p99)} (aim {milliseconds(AIM)}), "
            f"counted from the scheduled time of each POST; after the first {WARM_AFTER:.0f} s {warm}"
        )

    def _warm(self) -> None:
        self._cold = len(self._statistics.seconds)

    def _burst(self) -> None:
        self._depths.phase = f"{BURST_RATE:,}/s"

    def _at(self, moment: float, act: Callable[[], None]) -> None:
        timer = threading.Timer(max(0.0, moment - time.time()), act)
        timer.daemon = True
        timer.start()
