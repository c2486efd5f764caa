"""The queries of the ads demo find a stage that loses, doubles, moves or miscounts clicks."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.core import times
from headrace.core.times import MINUTE
from loadtest.ads.clicks import Campaign, Click, click_of, counts
from loadtest.ads.queries import AdsQueries
from loadtest.checker.findings import Findings

START = 1_763_719_258_722_861
CHANCE = random.Random(7)
TIMES = range(START, START + 3 * MINUTE, 90_000)
CAMPAIGN = Campaign(7, tuple(click_of(7, number, at, CHANCE) for number, at in enumerate(TIMES)))
PAGE = 200


class Stage:
    """Answers as the platform does, from ``clicks`` and clicks of other users on other ads."""

    def __init__(self, clicks: Sequence[Click]) -> None:
        self._campaign = Campaign(7, tuple(clicks))
        self._by_ad, self._by_user = self._campaign.by("ad"), self._campaign.by("user")
        self._others = [("ad-of-somebody", 10**6)]

    def walk(self, path: str) -> Iterator[list[dict[str, Any]]]:
        if match := re.fullmatch("/ads/(.+)/clicks", path):
            clicks = self._by_ad.get(match[1], [])
        else:
            clicks = self._by_user.get(path.split("/")[2], [])
        for first in range(0, len(clicks), PAGE):
            yield [{"key": "k", **each.item()} for each in clicks[first : first + PAGE]]

    def get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        assert (query["from"], query["to"]) == tuple(map(times.iso, CAMPAIGN.window))
        if path == "/ads/top":
            return {"topAds": [{"adId": ad, "clicks": count} for ad, count in self._others + self._campaign.top()]}
        clicks = self._by_ad.get(path.split("/")[2], [])
        return {**counts(clicks), "points": CAMPAIGN.steps(clicks)}


def findings_of(stage: Stage) -> Findings:
    queries = AdsQueries(stage, CAMPAIGN, patience=0)  # type: ignore[arg-type]
    queries.run_counts()
    return queries.run_histories()


def test_a_lost_click_is_found_in_history_and_counts() -> None:
    findings = findings_of(Stage(CAMPAIGN.clicks[1:]))

    assert (findings.lost, findings.unexpected) == (1, 0)
    for question in ("history of an ad", "counts per step", "top ads"):
        assert any(wrong.startswith(question) for wrong in findings.wrong), question


def test_a_click_moved_to_another_minute_is_lost_and_unexpected() -> None:
    first, *others = CAMPAIGN.clicks
    findings = findings_of(Stage([first._replace(at=first.at + MINUTE), *others]))

    assert (findings.lost, findings.unexpected) == (1, 1)
