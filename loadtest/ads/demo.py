"""Sends clicks at a steady rate with a burst at the end, asks every question, and says what came of it."""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console

from loadtest.ads.clicks import Campaign, Click, batch, make_campaign
from loadtest.ads.questions import Questions
from loadtest.chat import display
from loadtest.checker.checker import Latency, milliseconds
from loadtest.client.target import Target
from loadtest.sending import queue_depths as depths
from loadtest.sending.demo_result import Outcome, ask, show, show_statistics
from loadtest.sending.http_sender import Account
from loadtest.sending.open_loop import Due, Paced

SECONDS = 60
FEWEST_SECONDS, MOST_SECONDS = 12, 600
RATE, BURST_RATE, BURST_SECONDS = 1_000, 1_200, 10
"""Clicks per second, and those of the last ten seconds."""
BATCH = 10
CONNECTIONS = 32
REPEATED, REPEATED_AFTER = 20, 0.25
"""One POST in so many is sent again so many seconds later, whether or not it is answered."""
WARM_AFTER = 5.0
"""Seconds in which environments start cold: what is answered later is told apart."""
AIM = 0.050
"""Seconds in which 99 of 100 POSTs are to be answered."""


def run(target: Target, console: Console, seconds: int) -> Outcome:
    """Send clicks for ``seconds``, and ask.

    Raises:
        ClientError: nobody can sign in, or a question is not answered.
    """
    api = target.http("ads-demo", "events:write", "analytics:read", connections=CONNECTIONS, timeout=30.0)
    operator = target.http("ads-demo", "ops")
    account = Account()
    watch = depths.Depths(operator, lambda: account.accepted)
    plan = make_plan(seconds)
    campaign = plan.campaign
    console.print(
        f"{len(campaign.clicks):,} clicks of {len(campaign.of_users):,} users on {len(campaign.of_ads)} ads, "
        f"{_size(campaign.clicks[:BATCH]):.0f} bytes each on the broker"
    )
    sending = Sending(Paced(api, account, CONNECTIONS), account, watch)
    took = sending.run(plan, console)
    console.print(depths.table(watch.samples, "clicks"))
    findings = ask(console, watch, Questions(api, campaign))
    outcome = Outcome(len(campaign.clicks), account, findings)
    show(console, outcome, "clicks", took)
    show_statistics(console, api)
    console.print(f"\n{sending.latency()}", soft_wrap=True)
    for each in (api, operator):
        each.close()
    return outcome


@dataclass(frozen=True)
class Plan:
    """What is sent when: the run begins at ``starts`` (epoch seconds), its burst ``burst_at`` seconds later."""

    starts: float
    burst_at: float
    campaign: Campaign
    dues: Sequence[Due[Click]]


def make_plan(seconds: int, now: float | None = None) -> Plan:
    """A run of ``seconds``, which begins when it is made and read."""
    now = time.time() if now is None else now
    offsets = click_times(seconds)
    # The clicks carry their times from before the run, so it has to begin late enough for all of them to be made.
    starts = now + 2 + len(offsets) / 25_000
    campaign = make_campaign(int(now) & 0xFFFFFFFF, (round((starts + offset) * 1e6) for offset in offsets))
    # A batch is due when the last of its clicks has happened.
    firsts = range(0, len(offsets), BATCH)
    dues = [Due(offsets[first + BATCH - 1], batch(campaign.clicks[first : first + BATCH])) for first in firsts]
    chance = random.Random(campaign.name)
    dues += [Due(due.at + REPEATED_AFTER, due.parcel, True) for due in dues if chance.randrange(REPEATED) == 0]
    return Plan(starts, seconds - BURST_SECONDS, campaign, sorted(dues, key=lambda due: due.at))


def click_times(seconds: int) -> list[float]:
    """When each click happens, in seconds of the run."""
    steady = seconds - BURST_SECONDS
    before = [number / RATE for number in range(RATE * steady)]
    return before + [steady + number / BURST_RATE for number in range(BURST_RATE * BURST_SECONDS)]


def _size(clicks: Sequence[Click]) -> float:
    """Bytes of a click on the broker, in a request such as this one."""
    # Not at the top: what clients import knows nothing of the platform, and this is its own packing.
    from loadtest.ads.click_size import bytes_on_the_broker

    return bytes_on_the_broker([each.whole() for each in clicks]) / len(clicks)


class Sending:
    """Carries out a plan, and knows which answers came when everything was warm."""

    def __init__(self, paced: Paced[Click], account: Account, watch: depths.Depths) -> None:
        self._paced = paced
        self._account = account
        self._watch = watch
        self._cold = 0

    def run(self, plan: Plan, console: Console) -> float:
        """Send, and return the seconds that it took."""
        gc.collect()
        gc.freeze()  # tens of thousands of clicks: a walk through them all is a pause that the stage did not make
        began = time.perf_counter() + plan.starts - time.time()
        self._watch.phase = f"{RATE:,}/s"
        self._watch.start()
        self._at(plan.starts + WARM_AFTER, self._warm)
        self._at(plan.starts + plan.burst_at, self._burst)
        with display.progress_bar(console, "sent", len(plan.campaign.clicks)) as answered:
            self._paced.run(plan.dues, began, answered)
        took = time.perf_counter() - began
        self._watch.finish()
        gc.unfreeze()
        return took

    def latency(self) -> str:
        """The line beside the aim."""
        warm = Latency.of(self._account.seconds[self._cold :])
        return (
            f"answers p99={milliseconds(self._account.latency.p99)} (aim {milliseconds(AIM)}), "
            f"counted from when each POST was due; after the first {WARM_AFTER:.0f} s {warm}"
        )

    def _warm(self) -> None:
        self._cold = len(self._account.seconds)

    def _burst(self) -> None:
        self._watch.phase = f"{BURST_RATE:,}/s"

    def _at(self, moment: float, act: Callable[[], None]) -> None:
        timer = threading.Timer(max(0.0, moment - time.time()), act)
        timer.daemon = True
        timer.start()
