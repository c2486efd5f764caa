"""What a person sees: progress, a summary, and a page of history."""

from __future__ import annotations

import threading
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

from loadtest.checker.checker import Verdict
from loadtest.client.chat_events import parse_iso

COLORS = ("red", "green", "yellow", "blue", "magenta", "cyan", "bright_red", "bright_green", "bright_blue")
WIDEST_NAME, WIDEST_TEXT, LONGEST_SHOWN = 20, 100, 600
PLAIN_STEPS = 4
STORIES = {"JOIN": "joined", "LEAVE": "left"}


@contextmanager
def progress_bar(console: Console, title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that is told how many more are done. A few plain lines where there is no terminal."""
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(f"{title:<12}", total=total)
            yield lambda done: bar.advance(task, done)
        return
    yield _PlainProgress(console, title, total)


class _PlainProgress:
    def __init__(self, console: Console, title: str, total: int) -> None:
        self._console = console
        self._title = title
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def __call__(self, done: int) -> None:
        with self._lock:
            before = self._done * PLAIN_STEPS // max(1, self._total)
            self._done += done
            if self._done * PLAIN_STEPS // max(1, self._total) > before:
                self._console.print(f"{self._title}: {self._done:,} of {self._total:,}")


def summary(console: Console, rows: Mapping[str, str], errors: Mapping[str, int], verdict: Verdict) -> None:
    """A table of what was done; errors by code, and a few names of every fault, only where there are any."""
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
    """One page as a person would want to read it: newest at the bottom, local time, a colour for everyone.

    ``items`` are newest first, as the API answers them.
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
    story = STORIES.get(item.get("messageType", ""))
    return Text(story, style="dim") if story else Text(_shortened(item["message"]))


def _shortened(message: str) -> str:
    shown = visible(message)
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN].rstrip()} … ({len(message):,} characters)"


def visible(text: str) -> str:
    """``text`` with every character that would command the terminal shown as a picture of itself."""
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char == "\n":
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    # C1 controls, and the marks that turn the direction of all that follows.
    if 0x80 <= code < 0xA0 or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return "\N{REPLACEMENT CHARACTER}"
    return char
