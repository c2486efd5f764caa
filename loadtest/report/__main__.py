"""``python -m loadtest.report [--run a.json | --a a.json --b b.json] [--picture file.svg]``: writes pages of runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from loadtest.client.command import Parser, exit_code_of
from loadtest.report.charts import charts
from loadtest.report.document import newest, read
from loadtest.report.page import comparison_page, write
from loadtest.report.plots import picture
from loadtest.shapes.options import RESULTS
from localstage.client.errors import ClientError


def compare(one: Path, other: Path) -> Path:
    """Write the page that compares two runs beside the second; return its path.

    Raises:
        ClientError: one of them is no result of a run.
    """
    runs = read(one), read(other)
    page = other.with_name(f"{one.stem}-and-{other.stem}.html")
    page.write_text(comparison_page(*runs), encoding="utf-8")
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m loadtest.report", description=__doc__)
    parser.add_argument("--run", type=Path, help="JSON of a run (default: the newest)")
    parser.add_argument("--picture", type=Path, help="also draw its charts as one SVG")
    parser.add_argument("--a", type=Path, help="JSON of the first of two runs")
    parser.add_argument("--b", type=Path, help="JSON of the second")
    parsed = parser.parse_args(arguments)

    def run() -> int:
        if (parsed.a is None) != (parsed.b is None):
            raise ClientError("to compare two runs give both A=path.json and B=path.json")
        if parsed.a and (parsed.run or parsed.picture):
            raise ClientError("RUN and PICTURE are of one run: leave out A and B")
        path = parsed.b or parsed.run or newest(Path(RESULTS))
        print(f"report: {compare(parsed.a, path) if parsed.a else write(path)}")
        if parsed.picture:
            result = read(path)
            title = f"Load run: {result['shape']['name']}, {result['began'][:10]}"
            parsed.picture.write_text(picture(title, charts(result)), encoding="utf-8")
            print(f"picture: {parsed.picture}")
        return 0

    return exit_code_of(run, OSError)


if __name__ == "__main__":
    sys.exit(main())
