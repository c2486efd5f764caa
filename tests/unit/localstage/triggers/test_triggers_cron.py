"""Rates and cron expressions fire at the same times as on AWS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from localstage.triggers.cron import parse_expression

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)  # a Friday


def fires(expression: str, times: int = 1, now: datetime = NOW) -> list[str]:
    timetable = parse_expression(expression)
    seen: list[str] = []
    at: datetime | None = now
    for _ in range(times):
        assert at is not None
        at = timetable.next_after(at)
        seen.append("never" if at is None else at.strftime("%Y-%m-%d %H:%M"))
        if at is None:
            break
    return seen


@pytest.mark.parametrize(
    ("expression", "interval"),
    [
        ("rate(1 minute)", timedelta(minutes=1)),
        ("rate(5 minutes)", timedelta(minutes=5)),
        ("rate(1 hour)", timedelta(hours=1)),
        ("rate(12 hours)", timedelta(hours=12)),
        ("rate(1 day)", timedelta(days=1)),
        ("rate(7 days)", timedelta(days=7)),
    ],
)
def test_a_rate_fires_one_interval_later(expression: str, interval: timedelta):
    assert parse_expression(expression).next_after(NOW) == NOW + interval


@pytest.mark.parametrize(
    ("expression", "times"),
    [
        ("cron(* * * * ? *)", ["2026-11-20 10:16", "2026-11-20 10:17"]),
        ("cron(0/15 * * * ? *)", ["2026-11-20 10:30", "2026-11-20 10:45", "2026-11-20 11:00"]),
        ("cron(5/30 10-11 * * ? *)", ["2026-11-20 10:35", "2026-11-20 11:05", "2026-11-20 11:35", "2026-11-21 10:05"]),
        ("cron(15 10 * * ? *)", ["2026-11-21 10:15", "2026-11-22 10:15"]),
        ("cron(0 12 1 * ? *)", ["2026-12-01 12:00", "2027-01-01 12:00"]),
        ("cron(0 18 ? * MON-FRI *)", ["2026-11-20 18:00", "2026-11-23 18:00"]),
        ("cron(0 18 ? * 2-6 *)", ["2026-11-20 18:00", "2026-11-23 18:00"]),
        ("cron(0 8 ? * 1,SAT *)", ["2026-11-21 08:00", "2026-11-22 08:00", "2026-11-28 08:00"]),
        ("cron(0 8 ? * FRI-SUN *)", ["2026-11-21 08:00", "2026-11-22 08:00", "2026-11-27 08:00"]),
        ("cron(0 0 1 JAN,jul ? *)", ["2027-01-01 00:00", "2027-07-01 00:00"]),
        ("cron(0 22-2/2 20,21 11 ? *)", ["2026-11-20 22:00", "2026-11-21 00:00", "2026-11-21 02:00"]),
        ("cron(0 0 31 * ? *)", ["2026-12-31 00:00", "2027-01-31 00:00", "2027-03-31 00:00"]),
        ("cron(0 0 29 2 ? *)", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("cron(30 6 15 6 ? 2027-2028)", ["2027-06-15 06:30", "2028-06-15 06:30", "never"]),
        ("cron(0 0 1 1 ? 2020)", ["never"]),
        ("cron(0 0 30 2 ? *)", ["never"]),
    ],
)
def test_a_cron_expression_fires_at_its_times(expression: str, times: list[str]):
    assert fires(expression, len(times)) == times


def test_a_minute_that_has_begun_does_not_fire_again():
    at = datetime(2026, 11, 20, 10, 15, tzinfo=UTC)

    assert fires("cron(15 10 * * ? *)", now=at) == ["2026-11-21 10:15"]
    assert fires("cron(15 10 * * ? *)", now=at - timedelta(microseconds=1)) == ["2026-11-20 10:15"]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("every day", "expected rate"),
        ("rate(5)", "expected rate"),
        ("rate(0 minutes)", "at least 1"),
        ("rate(1 minutes)", r"rate\(1 minute\)"),
        ("rate(5 minute)", r"rate\(5 minutes\)"),
        ("cron(0 12 * * ?)", "six fields, not 5"),
        ("cron(0 12 * * * *)", "must be ?"),
        ("cron(0 12 ? * ? *)", "must be ?"),
        ("cron(60 12 * * ? *)", "minutes: 60 is not within 0-59"),
        ("cron(0 12 ? * 0 *)", "day of week: 0"),
        ("cron(0 12 L * ? *)", "day of month: cannot read L"),
        ("cron(0/0 12 * * ? *)", "minutes: 0/0"),
        ("cron(a 12 * * ? *)", "cannot read A"),
        ("cron(? 12 * * ? *)", "minutes: cannot read"),
        ("cron(1- 12 * * ? *)", "cannot read 1-"),
    ],
)
def test_an_expression_that_cannot_be_read_says_why(expression: str, reason: str):
    with pytest.raises(ValueError, match=reason.replace("?", r"\?")):
        parse_expression(expression)
