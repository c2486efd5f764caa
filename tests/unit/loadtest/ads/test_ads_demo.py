"""The ads demo's own account: it must find a stage that loses, doubles, moves or miscounts clicks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from loadtest.ads import demo
from loadtest.ads.clicks import MINUTE, Campaign, Click, Counts, alone, batch, make_campaign, moment
from loadtest.ads.questions import Questions
from loadtest.checker.findings import Findings

START = 1_763_719_258_722_861
CAMPAIGN = make_campaign(7, range(START, START + 3 * MINUTE, 90_000))
PAGE = 200


class Stage:
    """Answers as the platform does, from ``clicks``; others click on ads of their own meanwhile."""

    def __init__(self, clicks: Sequence[Click]) -> None:
        self._campaign = CAMPAIGN.only(clicks)
        self._others = [("ad-of-somebody", 10**6)]

    def walk(self, path: str) -> Iterator[list[dict[str, Any]]]:
        if match := re.fullmatch("/ads/(.+)/clicks", path):
            clicks = self._campaign.of_ads.get(match[1], [])
        else:
            clicks = self._campaign.of_users.get(path.split("/")[2], [])
        for first in range(0, len(clicks), PAGE):
            yield [{"key": "k", **each.shown()} for each in clicks[first : first + PAGE]]

    def get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        assert (query["from"], query["to"]) == tuple(map(moment, CAMPAIGN.window))
        if path == "/ads/top":
            return {"topAds": [{"adId": ad, "clicks": count} for ad, count in self._others + self._campaign.top()]}
        clicks = self._campaign.of_ads.get(path.split("/")[2], [])
        steps = Campaign(7, CAMPAIGN.clicks).steps(clicks)
        return {**_told(Counts.of(clicks)), "points": [{"from": at, **_told(counts)} for at, counts in steps]}


def _told(counts: Counts) -> dict[str, Any]:
    return {"clicks": counts.clicks, "uniqueUsers": counts.users, "types": counts.types}


def ask(clicks: Sequence[Click], monkeypatch: pytest.MonkeyPatch) -> Findings:
    monkeypatch.setattr("loadtest.ads.questions.PATIENCE", 0.0)
    return Questions(Stage(clicks), CAMPAIGN, pause=lambda _: None).run(lambda _: None)  # type: ignore[arg-type]


def test_a_stage_that_kept_every_click_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = ask(CAMPAIGN.clicks, monkeypatch)

    assert (findings.kept, findings.wrong, findings.stored) == (True, [], len(CAMPAIGN.clicks))
    assert set(findings.asked) == {"history of an ad", "history of a user", "counts per step", "top ads"}


def test_a_lost_click_is_found_in_the_history_and_in_every_count(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = ask(CAMPAIGN.clicks[1:], monkeypatch)

    assert (findings.kept, findings.lost, findings.unexpected) == (False, 1, 0)
    for question in ("history of an ad", "counts per step", "top ads"):
        assert any(wrong.startswith(question) for wrong in findings.wrong), question


def test_a_click_that_is_counted_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = ask([*CAMPAIGN.clicks, CAMPAIGN.clicks[5]], monkeypatch)

    assert (findings.kept, findings.lost, findings.unexpected) == (False, 0, 1)


def test_a_click_that_was_moved_to_another_minute_is_lost_and_unexpected(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = CAMPAIGN.clicks
    findings = ask([first._replace(at=first.at + MINUTE), *others], monkeypatch)

    assert (findings.kept, findings.lost, findings.unexpected) == (False, 1, 1)


def test_clicks_out_of_order_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(CAMPAIGN.clicks)
    hot = CAMPAIGN.top()[0][0]
    monkeypatch.setattr("loadtest.ads.questions.PATIENCE", 0.0)
    monkeypatch.setattr(stage, "walk", lambda path: reversed(list(Stage.walk(stage, path))))

    findings = Questions(stage, CAMPAIGN).run(lambda _: None)  # type: ignore[arg-type]

    assert (findings.lost, findings.unexpected) == (0, 0)
    assert any(wrong.startswith(f"history of an ad {hot}:") for wrong in findings.wrong)


def test_a_click_goes_alone_to_its_ad_or_whole_in_a_batch() -> None:
    click = CAMPAIGN.clicks[0]
    single, several = alone(click), batch(CAMPAIGN.clicks[:10])

    assert single.path == f"/ads/{click.ad}/clicks"
    assert {"adId": click.ad, **single.body([click])} == click.whole()
    assert several.path == "/clicks/batch"
    assert several.body(several.events)["events"][0] == click.whole()


def test_clicks_come_at_a_thousand_a_second_and_in_the_last_ten_at_twelve_hundred() -> None:
    times = demo.click_times(60)

    assert len(times) == 50 * 1_000 + 10 * 1_200
    assert times == sorted(times)
    assert sum(at < 1 for at in times) == 1_000
    assert sum(50 <= at < 51 for at in times) == 1_200
    assert times[-1] < 60


def test_every_click_is_due_once_in_a_batch_of_ten_and_some_batches_again_as_they_were() -> None:
    plan = demo.make_plan(12, now=START / 1e6)
    first = [due for due in plan.dues if not due.repeated]
    again = [due for due in plan.dues if due.repeated]

    assert {len(due.parcel.events) for due in plan.dues} == {10}
    assert [click for due in first for click in due.parcel.events] == list(plan.campaign.clicks)
    assert again
    assert all(any(due.parcel is other.parcel for other in first) for due in again)
    assert [due.at for due in plan.dues] == sorted(due.at for due in plan.dues)


def test_no_click_is_sent_before_it_happened() -> None:
    plan = demo.make_plan(12, now=START / 1e6)

    assert all(click.at <= (plan.starts + due.at) * 1e6 + 1 for due in plan.dues for click in due.parcel.events)
