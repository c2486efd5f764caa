"""Shows a summary of a replay and a page of history in the terminal."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from headrace_client.cli.show import visible
from loadtest.checker.verdict import Verdict
from loadtest.client.chat_events import parse_iso

COLORS = ("red", "green", "yellow", "blue", "magenta", "cyan", "bright_red", "bright_green", "bright_blue")
WIDEST_NAME, WIDEST_TEXT, LONGEST_SHOWN = 20, 100, 600
JOINS_AND_LEAVES = {"JOIN": "joined", "LEAVE": "left"}


@contextmanager
def progress_bar(console: Console, title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of items just done. Without a terminal the bar is printed at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(f"{title:<12}", total=total)
        yield lambda done: bar.advance(task, done)


def summary(console: Console, rows: Mapping[str, str], errors: Mapping[str, int], verdict: Verdict) -> None:
    """Print ``rows``, the errors by code, and examples of each fault that ``verdict`` found."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    for code, count in sorted(errors.items()):
        table.add_row(Text(f"error {code}", style="bold red"), Text(f"{count:,}"))
    for kind, names in verdict.examples.items():
        table.add_row(Text(kind, style="bold red"), Text("\n".join(names)))
    console.print()
    console.print(table)


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
    shown = visible(message, lines=True)
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN].rstrip()} … ({len(message):,} characters)"
