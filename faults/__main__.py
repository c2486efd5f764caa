"""``python -m faults [DAY ...]``: runs the scripted days, prints a row as each ends, and the table.

Exits with 1 if any day broke a promise.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from faults import days_broker, days_stage, days_store
from faults.account import Row
from faults.world import World
from loadtest.client import LoadTestError
from loadtest.stage_process import interruptible
from localstage.errors import StageError

Day = Callable[[World], Row]
DAYS: dict[str, Day] = {
    day.__name__.replace("_", "-"): day
    for day in (
        *days_broker.DAYS,
        *days_store.DAYS,
        days_stage.stage_killed,
        days_broker.function_frozen,
    )
}
LETHAL, FROZEN = "lethal-record", "function-frozen"
Keep = Callable[[Row], object]
COLUMNS = ("accepted", "stored", "retried", "dead", "lost", "unexpected", "duplicated", "refused")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    parser.add_argument("days", nargs="*", metavar="DAY", help=f"default: all of {', '.join(DAYS)}")
    chosen = parser.parse_args(arguments).days or list(DAYS)
    unknown = [name for name in chosen if name not in DAYS]
    if unknown:
        parser.error(f"no such day: {', '.join(unknown)} (there are: {', '.join(DAYS)})")
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    console = Console(highlight=False, width=150)
    with interruptible():
        try:
            return run(chosen, console)
        except (LoadTestError, StageError) as error:
            print(f"headrace: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nheadrace: interrupted", file=sys.stderr)
            return 130


def run(names: Sequence[str], console: Console) -> int:
    """Run the days of these names on one stage."""
    world = World()
    rows: list[Row] = []

    def keep(row: Row) -> None:
        rows.append(row)
        console.print(line(row), markup=False, soft_wrap=True)

    try:
        world.start()
        for day in _days(names, world):
            keep(day(keep))
    finally:
        world.stop()
    console.print(table(rows))
    return 0 if rows and all(row.good for row in rows) else 1


def _days(names: Sequence[str], world: World) -> Iterator[Callable[[Keep], Row]]:
    """The days, each told who keeps rows: one that mostly waits has another done meanwhile."""
    both = LETHAL in names and FROZEN in names
    for name in names:
        if both and name == LETHAL:
            continue
        if both and name == FROZEN:
            yield lambda keep: days_broker.function_frozen(world, lambda: keep(DAYS[LETHAL](world)))
        else:
            yield lambda _keep, day=DAYS[name]: day(world)  # type: ignore[misc]


def line(row: Row) -> str:
    """One day in one line, its problems below."""
    counts = " ".join(f"{name}={getattr(row, name)}" for name in COLUMNS)
    head = f"{'ok  ' if row.good else 'FAIL'} {row.day:24} {row.seconds:5.0f} s  {counts}  {row.note}"
    return "\n".join([head, *(f"       {problem}" for problem in row.problems)])


def table(rows: Sequence[Row]) -> Table:
    """All days."""
    made = Table(box=None, pad_edge=False)
    made.add_column("day")
    made.add_column("what")
    for name in ("seconds", *COLUMNS):
        made.add_column("503s" if name == "refused" else name, justify="right")
    for row in rows:
        counts = [f"{getattr(row, name):,}" for name in COLUMNS]
        made.add_row(row.day, row.note, f"{row.seconds:.0f}", *counts, style="" if row.good else "bold red")
    return made


if __name__ == "__main__":
    sys.exit(main())
