"""``python -m tools.cost``: prints what a stage costs per month and per million events, by item."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from loadtest.client.command import Parser, between, exit_code_of
from localstage.core.errors import StageError
from tools.cost import prices, stage
from tools.cost.command import load_parser
from tools.cost.model import Load, items, once
from tools.cost.picture import draw
from tools.cost.summary import Summary


def parser() -> Parser:
    """The command's parser; the defaults are those of the page of costs."""
    made = load_parser("python -m tools.cost", __doc__, 100.0, "dev")
    add = made.add_argument
    add("--listeners", type=partial(between, 0, 1_000_000), default=0, help="live copies of each event (default 0)")
    add("--http", action="store_true", help="HTTP requests in place of WebSocket frames")
    add("--picture", type=Path, help="also draw the cost of each rate up to 100 events/s, as an SVG")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what a stage costs on AWS, beside one function call and one put per event."""
    given = vars(parser().parse_args(arguments))
    return exit_code_of(lambda: run(given.pop("config_env"), **given), StageError)


def run(config_env: str, picture: Path | None, **given: float) -> int:
    """Print the table of one stage and its load, and draw the ``picture``.

    Raises:
        StageError: there is no such stage.
    """
    load = Load(**given)  # type: ignore[arg-type]
    listed = prices.read()
    read = stage.read(config_env)
    found = items(load, read, listed)
    table = Table(box=None, pad_edge=False)
    table.add_column(f"{config_env}, {listed.region}, {listed.date}")
    for name in ("at rest, $/month", "load, $/month", "usual design, $/month", "$/M events", "usual design, $/M"):
        table.add_column(name, justify="right")
    million = load.events / 1e6
    total = Summary(tuple(found))
    for each in found:
        if each.rest or each.load or each.usual:
            table.add_row(each.name, *_cells(each.rest, each.load, each.usual, million))
    table.add_row("[bold]sum", *_cells(total.rest, total.load, total.usual, million))
    console = Console(highlight=False)
    console.width = max(console.width, 120)
    console.print(table)
    paid_once = f"paid once, for warm tables     ${once(read, listed):,.0f}"
    print("\n".join(["", *total.lines(million), paid_once, f"not confirmed: {', '.join(listed.unconfirmed)}"]))
    if picture:
        picture.write_text(draw(read, listed, load), encoding="utf-8")
        print(f"picture: {picture}")
    return 0


def _cells(rest: float, load: float, usual: float, million: float) -> list[str]:
    return [f"{value:,.2f}" if value else "" for value in (rest, load, usual)] + [
        f"{value / million:,.3f}" if value else "" for value in (load, usual)
    ]


if __name__ == "__main__":
    sys.exit(main())
