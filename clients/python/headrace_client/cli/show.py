"""Shows answers: as tables for people, or as JSON for programs. Texts of other people cannot control the terminal."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Control characters, and the marks that change the direction of text.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Command(click.Command):
    """A command with the option ``--json``, which the group before it has too."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        said = "Print JSON, one object a line."
        self.params.append(click.Option(["--json"], is_flag=True, expose_value=False, callback=_as_json, help=said))


def _as_json(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given:
        context.obj = replace(context.obj, as_json=True)


class Group(click.Group):
    """A group whose commands have the option ``--json``."""

    command_class = Command
    group_class = type

    def invoke(self, context: click.Context) -> Any:
        """Run a command. What it cannot print, as on a full disk or to a program that has ended, is one sentence."""
        with printing():
            return super().invoke(context)


class Said(logging.Handler):
    """Prints why the client waits."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line on standard error."""
        click.echo(f"headrace: {visible(record.getMessage())}", err=True)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """End the program with one sentence if its output cannot be written."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again at its end
        sys.exit(f"headrace: {error}")


def visible(value: object, *, lines: bool = False) -> str:
    """``value`` as text, with control characters replaced by a visible symbol; with ``lines``, ends of lines stay."""
    texts = str(value).split("\n") if lines else [str(value)]
    return "\n".join(_UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text) for text in texts)


def show_json(answer: object) -> None:
    """Print one line of JSON."""
    click.echo(json.dumps(answer))  # ASCII only, so it holds no control characters


def attachment_lines(message: Mapping[str, Any]) -> list[str]:
    """One line for each attachment of a message."""
    found = message.get("attachments", ())
    return [visible(f"+ {each['name']} ({each['type']}, {each['bytes']:,} bytes)") for each in found]


def show_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], width: int = 0) -> None:
    """Print a table with these columns of the rows, at least ``width`` wide; a missing value is empty.

    The attachments of a message are below its text.
    """
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row, column)) for column in columns))
    console = Console()
    console.width = max(console.width, width)  # a wrapped id cannot be copied
    console.print(table)


def _cell(row: Mapping[str, Any], column: str) -> str:
    attached = attachment_lines(row) if column == "message" else []
    value = row.get(column, "")
    return "\n".join([visible(", ".join(map(str, value)) if isinstance(value, list) else value), *attached])


def show_values(answer: Mapping[str, Any]) -> None:
    """Print names and values as a table, and each list of objects as another one. Inner names are dotted."""
    values, lists = dict[str, Any](), dict[str, list[Any]]()
    _sort_out(answer, "", values, lists)
    if values:
        show_rows([{"name": name, "value": value} for name, value in values.items()], ("name", "value"))
    for name, rows in lists.items():
        flat = [_values_of(row) for row in rows]
        click.echo(f"\n{visible(name)}")
        show_rows(flat, list(dict.fromkeys(column for row in flat for column in row)))


def _sort_out(answer: Mapping[str, Any], before: str, values: dict[str, Any], lists: dict[str, list[Any]]) -> None:
    for name, value in answer.items():
        if isinstance(value, dict) and value:
            _sort_out(value, f"{before}{name}.", values, lists)
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            lists[before + name] = value
        else:
            values[before + name] = ", ".join(map(str, value)) if isinstance(value, list) else value


def _values_of(row: Mapping[str, Any]) -> dict[str, Any]:
    values, lists = dict[str, Any](), dict[str, list[Any]]()
    _sort_out(row, "", values, lists)
    return {**values, **{name: json.dumps(value) for name, value in lists.items()}}
