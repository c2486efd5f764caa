"""The clicks of one phase, and all questions about them."""

from __future__ import annotations

import random
import time
from functools import partial
from urllib.parse import quote

from loadtest.ads.clicks import Campaign, Click, ad_of, click_of, moment
from loadtest.ads.queries import CLIENTS, AdsQueries
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.runs.posted_events import PostedEvents
from loadtest.runs.work import Findings, Sent
from loadtest.sending.draining import NEWEST, await_readable, settled
from localstage.client.http_api import HttpApi

USER = "load-ads"


class AdsWork:
    """One worker's clicks: its own campaign of ads and users. ``before`` is the phase before, if any."""

    def __init__(self, target: Target, place: Place, measurements: Measurements, before: AdsWork | None) -> None:
        self.posted: PostedEvents[Click] = PostedEvents(measurements)
        self._target = target
        self._name = place.unique
        self._last = place.last
        self._before = before
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
        await_readable(partial(_is_readable, api, click) for click in self.posted.accepted[-NEWEST:])
        at = time.monotonic()
        found = settled(lambda: self._queries(api).run_histories(lambda _: None))
        wrong = found.wrong + (self._wrong_counts(api) if self._last else [])
        api.close()
        examples = {"wrong": wrong[:5]} if wrong else {}
        return Findings(found.stored, found.lost, found.unexpected, wrong=len(wrong), examples=examples, at=at)

    def _queries(self, api: HttpApi) -> AdsQueries:
        return AdsQueries(api, Campaign(self._name, tuple(self.posted.accepted)))

    def _wrong_counts(self, api: HttpApi) -> list[str]:
        """The wrong counts of this phase and of all before it. Asked at the end, they have to be waited for once."""
        found = self._before._wrong_counts(api) if self._before is not None else []
        return found + (self._queries(api).run_counts(lambda _: None).wrong if self.posted.accepted else [])

    def close(self) -> None:
        """Nothing is open."""


def _is_readable(api: HttpApi, click: Click) -> bool:
    window = {"from": moment(click.at), "to": moment(click.at + 1)}
    page = api.get(f"/ads/{quote(click.ad, safe='')}/clicks", window)
    return any(each["clickId"] == click.click_id for each in page["items"])
