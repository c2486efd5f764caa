"""Shows a summary of a replay, a page of history and who was active, in the terminal."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from loadtest.chat.replay_plan import Plan
from loadtest.checker.verdict import Verdict
from loadtest.client.chat_events import iso, parse_iso
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi
from localstage.client.terminal import visible

COLORS = ("red", "green", "yellow", "blue", "magenta", "cyan", "bright_red", "bright_green", "bright_blue")
WIDEST_NAME, WIDEST_TEXT, LONGEST_SHOWN = 20, 100, 600
LONGEST_WINDOW = timedelta(days=31)
COUNTED_WITHIN = 15.0
"""Seconds in which the analytics count what was just stored."""
JOINS_AND_LEAVES = {"JOIN": "joined", "LEAVE": "left"}


def summary(console: Console, rows: Mapping[str, str], errors: Mapping[str, int], verdict: Verdict) -> None:
    """Print ``rows``, the errors by code, and examples of each fault that ``verdict`` found."""
    table = _named(rows)
    for code, count in sorted(errors.items()):
        table.add_row(Text(f"error {code}", style="bold red"), Text(f"{count:,}"))
    for kind, names in verdict.examples.items():
        table.add_row(Text(kind, style="bold red"), Text("\n".join(names)))
    console.print()
    console.print(table)


def activity(console: Console, reader: HttpApi, plan: Plan) -> None:
    """Print what the analytics say about the time of the replay, at most its last 31 days."""
    times = [event.timestamp for stream in plan.streams for event in stream.events]
    end = parse_iso(max(times)) + timedelta(seconds=1)
    begin = max(parse_iso(min(times)), end - LONGEST_WINDOW)
    query = {"from": iso(begin), "to": iso(end), "top": "5"}
    try:
        found = reader.get("/analytics/window", query)
        deadline = time.monotonic() + COUNTED_WITHIN
        while found["totalMessages"] < plan.messages and time.monotonic() < deadline:
            time.sleep(1.0)
            found = reader.get("/analytics/window", query)
    except ClientError as error:
        console.print(f"\nthe analytics do not answer: {error}", markup=False, style="red")
        return
    rows = {"messages": f"{found['totalMessages']:,}", "unique users": f"{found['uniqueUsers']:,}"}
    for title, entries, name in (("users", found["topUsers"], "userId"), ("rooms", found["topRooms"], "roomId")):
        rows[f"top {title}"] = ", ".join(f"{visible(str(entry[name]))} {entry['messages']:,}" for entry in entries)
    console.print()
    console.print(Rule(Text(f"who was active, {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"), align="left"))
    console.print(_named(rows))


def _named(rows: Mapping[str, str]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    return table


def history_page(console: Console, room: str, items: Sequence[Mapping[str, Any]]) -> None:
    """Print a page of history with the newest message last, in local time, with a colour for each user.

    ``items`` are newest first, as the API returns them.
    """
    console.print()
    console.print(Rule(Text(visible(room), style="bold"), align="left"))
    local = [(parse_iso(str(item["timestamp"])).astimezone(), item) for item in reversed(items)]
    widest = max((Text(_name(item)).cell_len for item in items), default=0)
    for day, said in groupby(local, key=lambda entry: entry[0].date()):
        console.print(Text(f"{day:%A}, {day.day} {day:%B %Y}", style="dim"))
        console.print(_conversation(said, widest))


def _conversation(said: Iterable[tuple[datetime, Mapping[str, Any]]], widest: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, min_width=min(widest, WIDEST_NAME), max_width=WIDEST_NAME)
    table.add_column(overflow="fold", max_width=WIDEST_TEXT)
    for moment, item in said:
        name = _name(item)
        color = COLORS[zlib.crc32(name.encode()) % len(COLORS)]
        table.add_row(Text(f"{moment:%H:%M}", style="dim"), Text(name, style=color), _words(item))
    return table


def _name(item: Mapping[str, Any]) -> str:
    return visible(str(item["username"]))


def _words(item: Mapping[str, Any]) -> Text:
    presence = JOINS_AND_LEAVES.get(item.get("messageType", ""))
    return Text(presence, style="dim") if presence else Text(_shortened(item["message"]))


def _shortened(message: str) -> str:
    shown = visible(message)
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN].rstrip()} … ({len(message):,} characters)"
