"""Shows answers: as tables for people, or as JSON for programs. Texts of other people cannot control the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Control characters, and the marks that change the direction of text.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(value: object, *, lines: bool = False) -> str:
    """``value`` as text, with control characters replaced by a visible symbol; with ``lines``, ends of lines stay."""
    texts = str(value).split("\n") if lines else [str(value)]
    return "\n".join(_UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text) for text in texts)


def show_json(answer: object) -> None:
    """Print one line of JSON."""
    click.echo(json.dumps(answer))  # ASCII only, so it holds no control characters


def show_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], width: int = 0) -> None:
    """Print a table with these columns of the rows, at least ``width`` wide; a missing value is empty."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(row.get(column, ""))) for column in columns))
    console = Console()
    console.width = max(console.width, width)  # a wrapped id cannot be copied
    console.print(table)


def show_values(answer: Mapping[str, Any]) -> None:
    """Print a table of names and values; values inside objects have dotted names."""
    show_rows([{"name": name, "value": value} for name, value in _flat(answer)], ("name", "value"))


def _flat(answer: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in answer.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for number, each in enumerate(value, 1):
                yield from _flat(each, f"{before}{name}.{number}.")
        else:
            yield f"{before}{name}", value
