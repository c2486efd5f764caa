"""The demo plots a replay as the analytics count it."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console

from loadtest.chat import activity
from loadtest.chat.replay_plan import Plan, ReplayStream
from loadtest.client.chat_events import ChatEvent

START = datetime(2025, 11, 21, 10, 0, 30, tzinfo=UTC)


def times(count: int, apart: timedelta) -> list[datetime]:
    return [START + apart * number for number in range(count)]


def test_a_short_replay_is_plotted_whole_by_the_minute() -> None:
    window, plotted, step = activity.windows(times(30, timedelta(seconds=30)))

    assert step == 60
    assert (window, plotted.sent) == (plotted, 30)


def test_a_replay_of_an_hour_shows_its_busiest_minutes_and_counts_all() -> None:
    moments = times(40, timedelta(minutes=2)) + times(500, timedelta(seconds=1))

    window, plotted, step = activity.windows(moments)

    assert (step, window.sent) == (60, 540)
    assert plotted.end - plotted.start == timedelta(minutes=activity.LINES)
    assert plotted.start == datetime(2025, 11, 21, 10, 0, tzinfo=UTC)
    assert plotted.sent == sum(plotted.start <= each < plotted.end for each in moments)


def test_a_replay_of_years_is_limited_to_the_longest_window() -> None:
    window, plotted, step = activity.windows(times(900, timedelta(days=1)))

    assert (window, step) == (plotted, 86400)
    assert plotted.end - plotted.start == timedelta(days=activity.LINES)


class Analytics:
    """Counts two messages too few in each of the first two answers."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []

    def get(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        if path == "/analytics/series":
            points = [{"from": "2025-11-21T10:00:00.000000Z", "messages": 4, "uniqueUsers": 2}]
            return {"step": 60, "points": points}
        self.asked.append(query)
        return {
            "totalMessages": min(4, len(self.asked) * 2),
            "messagesPerSecond": {"window": 0.1, "active": 0.5},
            "uniqueUsers": 2,
            "topUsers": [{"userId": "al\x1bice", "messages": 3}, {"userId": "bob", "messages": 1}],
            "topRooms": [{"roomId": "kitchen", "messages": 4}],
            "accuracy": {"exact": True},
        }


def test_the_table_waits_for_the_count_and_shows_no_control_characters() -> None:
    events = tuple(
        ChatEvent("kitchen", f"m-{number}", f"2025-11-21T10:00:0{number}.000000Z", "bob", "hi") for number in range(4)
    )
    plan = Plan("test", (ReplayStream("bob", ("chat:write",), list(events), single=True),), 1, 1)
    shown, waits = io.StringIO(), list[float]()
    analytics = Analytics()

    activity.show(Console(file=shown, width=100), plan, analytics, waits.append)  # type: ignore[arg-type]

    assert len(analytics.asked) == 2
    assert len(waits) == 1
    assert "4 (0.50 a second while there were any)" in shown.getvalue()
    assert "bob 1" in shown.getvalue()
    assert "\x1b" not in shown.getvalue()
