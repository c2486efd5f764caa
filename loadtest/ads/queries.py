"""Runs every query of the ads stream and compares each answer with the clicks that were sent."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from headrace.core import times
from loadtest.ads.clicks import Campaign, Click, counts
from loadtest.checker.findings import Findings, settled
from loadtest.sending.queries import MOST, SAMPLED, Queries
from localstage.client.http_api import HttpApi


class AdsQueries(Queries):
    """Queries ``campaign``, whose clicks were all accepted. Lost and unexpected clicks are found per ad."""

    def __init__(self, api: HttpApi, campaign: Campaign, **options: Any) -> None:
        super().__init__(api, **options)
        self._campaign = campaign
        start, end = campaign.window
        self._window = {"from": times.iso(start), "to": times.iso(end)}
        self._by_ad, self._by_user = campaign.by("ad"), campaign.by("user")
        users = sorted(self._by_user)
        self._users = random.Random(campaign.name).sample(users, min(SAMPLED, len(users)))

    def run_counts(self) -> Findings:
        """Run the queries about counts, whose answers have what was stored 10 s before."""
        queries = [self._top]
        queries += [partial(self._counts, ad, clicks) for ad, clicks in self._by_ad.items()]
        self._ask(queries)
        return self.findings

    def run_histories(self) -> Findings:
        """Read the histories of ads and users, which finds lost and unexpected clicks."""
        queries = [partial(self._ad, ad, clicks) for ad, clicks in self._by_ad.items()]
        queries += [partial(self._user, user) for user in self._users]
        self._ask(queries)
        return self.findings

    def _ad(self, ad: str, clicks: Sequence[Click]) -> None:
        found = self._items(f"/ads/{quote(ad, safe='')}/clicks")
        self._check_whole("history of an ad", ad, found, [each.item() for each in clicks])

    def _counts(self, ad: str, clicks: Sequence[Click]) -> None:
        """The counts of the whole window and of each minute."""
        expected = {**counts(clicks), "points": self._campaign.steps(clicks)}

        def ask() -> dict[str, Any]:
            answer = self._api.get(f"/ads/{quote(ad, safe='')}/stats", {**self._window, "step": "60"})
            return {name: answer[name] for name in expected}

        self.findings.check("counts per step", ad, settled(ask, expected, self._patience), expected)

    def _user(self, user: str) -> None:
        expected = [each.item() for each in self._by_user[user]]
        self.findings.check("history of a user", user, self._items(f"/users/{quote(user, safe='')}/clicks"), expected)

    def _top(self) -> None:
        expected = self._campaign.top()
        found = settled(self._top_ads, expected, self._patience)
        self.findings.check("top ads", "", found, expected)

    def _top_ads(self) -> list[tuple[str, int]]:
        """The ads of this campaign; other ads may be clicked at the same time."""
        answer = self._api.get("/ads/top", {**self._window, "top": MOST})
        listed = [(each["adId"], each["clicks"]) for each in answer["topAds"]]
        return [each for each in listed if each[0] in self._by_ad]
