"""``python -m loadtest.report [--run a.json | --a a.json --b b.json] [--picture file.svg]``: writes pages of runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as Shown

from loadtest.client.command import exit_code_of
from loadtest.report.document import WrongDocument, newest, read
from loadtest.report.page import comparison_page, draw, write
from loadtest.report.tables import Table, comparison
from loadtest.shapes.options import RESULTS

WIDTH = 100


def compare(one: Path, other: Path) -> Path:
    """Print the comparison of two runs, and write its page beside the second; return the page's path.

    Raises:
        WrongDocument: one of them is no result of a run.
    """
    runs = read(one), read(other)
    console = Console(highlight=False)
    for table in comparison(*runs):
        console.print(_shown(table), width=max(console.width, WIDTH))
    page = other.with_name(f"{one.stem}-and-{other.stem}.html")
    page.write_text(comparison_page(*runs), encoding="utf-8")
    return page


def _shown(table: Table) -> Shown:
    shown = Shown(title=f"\n{table.title}", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for number, head in enumerate(table.heads):
        shown.add_column(head, justify="right" if number else "left")
    for row in table.rows:
        shown.add_row(*row)
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.report", description=__doc__)
    parser.add_argument("--run", type=Path, help="JSON of a run (default: the newest)")
    parser.add_argument("--picture", type=Path, help="also draw its charts as one SVG")
    parser.add_argument("--a", type=Path, help="JSON of the first of two runs")
    parser.add_argument("--b", type=Path, help="JSON of the second")
    parsed = parser.parse_args(arguments)

    def run() -> int:
        if (parsed.a is None) != (parsed.b is None):
            raise WrongDocument("to compare two runs give both A=path.json and B=path.json")
        if parsed.a and (parsed.run or parsed.picture):
            raise WrongDocument("RUN and PICTURE are of one run: leave out A and B")
        path = parsed.b or parsed.run or newest(Path(RESULTS))
        print(f"report: {compare(parsed.a, path) if parsed.a else write(path)}")
        if parsed.picture:
            draw(path, parsed.picture)
            print(f"picture: {parsed.picture}")
        return 0

    return exit_code_of(run, OSError)


if __name__ == "__main__":
    sys.exit(main())
