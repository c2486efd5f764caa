"""Shows who was active in a replay, from the analytics: a table and a plot in the terminal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.bar import Bar
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from loadtest.chat.replay_plan import Plan
from loadtest.client.chat_events import parse_iso
from localstage.client.http_api import HttpApi
from localstage.client.terminal import visible

PATIENCE = 30.0
"""Seconds to wait until the analytics count the whole window."""
STEPS = (60, 3600, 86400)
FEWEST, LINES, BAR_WIDTH, TOP = 6, 24, 40, 5


LONGEST = timedelta(days=31)
"""The longest window that the analytics accept."""


@dataclass(frozen=True)
class Window:
    """From ``start`` to before ``end``; ``sent`` messages were replayed in it."""

    start: datetime
    end: datetime
    sent: int

    def query(self, **more: str) -> dict[str, str]:
        """The query parameters of the window."""
        return {"from": _iso(self.start), "to": _iso(self.end), **more}


def windows(times: Sequence[datetime]) -> tuple[Window, Window, int]:
    """The window to count, the window to plot, and the step of the plot in seconds, for messages of these times.

    The whole replay is counted, unless it is longer than ``LONGEST``. The whole replay is plotted if that makes FEWEST
    to LINES lines in one of the steps; otherwise its busiest minutes, hours or days.
    """
    first, last = min(times), max(times)
    step = next((each for each in STEPS if _steps(first, last, each) <= LINES), STEPS[-1])
    if step != STEPS[0] and _steps(first, last, step) < FEWEST:
        step = STEPS[STEPS.index(step) - 1]
    length = timedelta(seconds=step) * min(LINES, _steps(first, last, step))
    found = Counter(_floor(each, step) for each in times)
    begin = max(found, key=lambda start: (sum(n for at, n in found.items() if start <= at < start + length), start))
    begin = max(_floor(first, step), min(begin, _floor(last, step) + timedelta(seconds=step) - length))
    plotted = Window(begin, begin + length, sum(begin <= each < begin + length for each in times))
    start, end = _floor(first, STEPS[0]), _floor(last, STEPS[0]) + timedelta(seconds=STEPS[0])
    return (Window(start, end, len(times)) if end - start <= LONGEST else plotted), plotted, step


def show(console: Console, plan: Plan, reader: HttpApi, pause: Callable[[float], None] = time.sleep) -> None:
    """Wait until the window is counted, then print it.

    Raises:
        HttpError: the analytics give no answer.
    """
    window, plotted, step = windows([parse_iso(each.timestamp) for stream in plan.streams for each in stream.events])
    with console.status("counting"):
        found = _counted(reader, window, pause)
        series = reader.get("/analytics/series", plotted.query(step=str(step)))
    console.print()
    console.print(Rule(Text("who was active on this stage", style="bold"), align="left"))
    console.print(_numbers(window, found))
    console.print(_plot(series["points"], step))


def _counted(reader: HttpApi, window: Window, pause: Callable[[float], None]) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE
    while True:
        found = reader.get("/analytics/window", window.query(top=str(TOP)))
        if found["totalMessages"] >= window.sent or time.monotonic() > deadline:
            return found
        pause(1.0)


def _numbers(window: Window, found: Mapping[str, Any]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in (
        ("window", f"{_local(window.start)} to {_local(window.end)}"),
        ("messages", _messages(window, found)),
        ("unique users", f"{found['uniqueUsers']:,}" + ("" if found["accuracy"]["exact"] else " (approximate)")),
        ("top users", _tops(found["topUsers"], "userId")),
        ("top rooms", _tops(found["topRooms"], "roomId")),
    ):
        table.add_row(Text(name, style="bold"), Text(value))
    return table


def _messages(window: Window, found: Mapping[str, Any]) -> str:
    active = found["messagesPerSecond"]["active"]
    rate = f" ({active:,.2f} a second while there were any)" if active else ""
    others = found["totalMessages"] - window.sent
    if others < 0:
        return f"{found['totalMessages']:,}{rate}; {-others:,} are not counted yet"
    return f"{found['totalMessages']:,}{rate}" + (f"; {others:,} are not of this replay" if others else "")


def _tops(entries: Sequence[Mapping[str, Any]], field: str) -> str:
    return ", ".join(f"{visible(str(entry[field]))} {entry['messages']:,}" for entry in entries)


def _plot(points: Sequence[Mapping[str, Any]], step: int) -> Table:
    most = max((point["messages"] for point in points), default=0) or 1
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("day" if step == STEPS[-1] else "time")
    table.add_column("messages", justify="right")
    table.add_column("users", justify="right")
    table.add_column("", width=BAR_WIDTH)
    form = "%Y-%m-%d" if step == STEPS[-1] else "%H:%M"
    for point in points:
        at = parse_iso(point["from"]).astimezone().strftime(form)
        bar = Bar(most, 0, point["messages"], width=BAR_WIDTH, color="cyan")
        table.add_row(at, f"{point['messages']:,}", f"{point['uniqueUsers']:,}", bar)
    return table


def _steps(first: datetime, last: datetime, step: int) -> int:
    return (_floor(last, step) - _floor(first, step)) // timedelta(seconds=step) + 1


def _floor(moment: datetime, step: int) -> datetime:
    return datetime.fromtimestamp(int(moment.timestamp()) // step * step, UTC)


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _local(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")
