"""Asks every question of the ads stream and compares each answer with what was sent."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from loadtest.ads.clicks import Campaign, Click, Counts, moment
from loadtest.checker.findings import Findings, settled
from loadtest.client.threads import in_threads
from localstage.client.http_api import HttpApi

CLIENTS = 8
PATIENCE = 60.0
"""Seconds for a count to be right: an answer holds what was stored 10 s ago, and late marks take their time."""
USERS_LOOKED_AT = 300
MOST_ADS = "10000"
_NOT_COMPARED = "key"


class Questions:
    """Asks about ``campaign``, all of whose clicks were accepted. Lost and unexpected ones are found ad by ad."""

    def __init__(self, api: HttpApi, campaign: Campaign, pause: Callable[[float], object] = time.sleep) -> None:
        self._api = api
        self._campaign = campaign
        self._pause = pause
        start, end = campaign.window
        self._window = {"from": moment(start), "to": moment(end)}
        self.findings = Findings()
        users = sorted(campaign.of_users)
        self._users = random.Random(campaign.name).sample(users, min(USERS_LOOKED_AT, len(users)))

    @property
    def subjects(self) -> int:
        """How many ads and users are asked about, and all together once."""
        return len(self._campaign.of_ads) + len(self._users) + 1

    def run(self, advance: Callable[[int], object]) -> Findings:
        """Ask everything; ``advance`` is told of each subject that is done.

        Raises:
            HttpError: a question is not answered.
        """

        def ask(piece: Callable[[], None]) -> None:
            piece()
            advance(1)

        pieces = [self._top]
        pieces += [partial(self._ad, ad, clicks) for ad, clicks in self._campaign.of_ads.items()]
        pieces += [partial(self._user, user) for user in self._users]
        in_threads(ask, pieces, CLIENTS)
        return self.findings

    def _ad(self, ad: str, clicks: Sequence[Click]) -> None:
        found = self._walk(f"/ads/{quote(ad, safe='')}/clicks")
        expected = [each.shown() for each in clicks]
        self.findings.check("history of an ad", ad, found, expected)
        self.findings.account(_counted(found), _counted(expected))
        steps = [("", Counts.of(clicks)), *self._campaign.steps(clicks)]
        counts = settled(lambda: self._stats(ad), steps, PATIENCE, self._pause)
        self.findings.check("counts per step", ad, counts, steps)

    def _user(self, user: str) -> None:
        expected = [each.shown() for each in self._campaign.of_users[user]]
        self.findings.check("history of a user", user, self._walk(f"/users/{quote(user, safe='')}/clicks"), expected)

    def _top(self) -> None:
        expected = self._campaign.top()
        found = settled(self._top_ads, expected, PATIENCE, self._pause)
        self.findings.check("top ads", "", found, expected)

    def _walk(self, path: str) -> list[dict[str, Any]]:
        """All clicks of a history, page by page."""
        return [_compared(item) for page in self._api.walk(path) for item in page]

    def _stats(self, ad: str) -> list[tuple[str, Counts]]:
        """The whole window, and each minute of it."""
        answer = self._api.get(f"/ads/{quote(ad, safe='')}/stats", {**self._window, "step": "60"})
        points = [(point["from"], Counts.told(point)) for point in answer["points"]]
        return [("", Counts.told(answer)), *points]

    def _top_ads(self) -> list[tuple[str, int]]:
        """Those of this campaign: others may be clicked on meanwhile."""
        answer = self._api.get("/ads/top", {**self._window, "top": MOST_ADS})
        listed = [(each["adId"], each["clicks"]) for each in answer["topAds"]]
        return [each for each in listed if each[0] in self._campaign.of_ads]


def _compared(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != _NOT_COMPARED}


def _counted(items: Sequence[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(sorted(item.items())) for item in items)
