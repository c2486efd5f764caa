"""The clicks of one phase, and all questions about them."""

from __future__ import annotations

import random
import time

from loadtest.ads.clicks import Campaign, Click, ad_of, click_of
from loadtest.ads.queries import CLIENTS, AdsQueries
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.runs.posted_events import PostedEvents
from loadtest.runs.work import Findings, Sent

USER = "load-ads"


class AdsWork:
    """One worker's clicks: a campaign with ads and users of its own. ``before`` is the phase before, if any."""

    def __init__(self, target: Target, place: Place, measurements: Measurements, before: AdsWork | None) -> None:
        self.posted: PostedEvents[Click] = PostedEvents(measurements)
        self._target = target
        self._name = place.unique
        self._made = 0
        self._chance = random.Random(place.unique)
        # Questions ask for the clicks of the phase before them.
        self.asked: AdsWork = before.asked if before is not None and not before._made else before or self

    def begin(self) -> None:
        """Nothing to prepare."""

    def clicks(self, count: int) -> list[Click]:
        """``count`` new clicks with the current time, a microsecond apart."""
        at = time.time_ns() // 1000
        first, self._made = self._made, self._made + count
        self.posted.attempted += count
        return [click_of(self._name, first + index, at - count + index, self._chance) for index in range(count)]

    def ad(self) -> str:
        """An ad to ask for."""
        return ad_of(self.asked._name, random.random())

    def sent(self) -> Sent:
        """What was sent so far."""
        return self.posted.sent()

    def read_back(self) -> Findings:
        """Ask every question about the accepted clicks."""
        if not self.posted.accepted:
            return Findings(0, 0, 0, at=time.monotonic())
        api = self._target.http(USER, "analytics:read", connections=CLIENTS, timeout=30.0)
        found = AdsQueries(api, Campaign(self._name, tuple(self.posted.accepted))).run(lambda _: None)
        api.close()
        examples = {"wrong": found.wrong[:5]} if found.wrong else {}
        return Findings(
            found.stored, found.lost, found.unexpected, wrong=len(found.wrong), examples=examples, at=time.monotonic()
        )

    def close(self) -> None:
        """Nothing is open."""
