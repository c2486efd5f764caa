"""``python -m faults [DAY ...]``: runs the scripted days, prints a row as each ends, and the table.

Exits with 1 if any day broke a promise.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table

from faults.harness import World
from faults.ledger import Row
from faults.scenarios import broker as days_broker
from faults.scenarios import stage as days_stage
from faults.scenarios import store as days_store
from faults.scenarios import streams as days_streams
from loadtest.client import LoadTestError
from loadtest.stage_process import interruptible, uninterrupted
from localstage.errors import StageError

Day = Callable[[World], Row]
DAYS: dict[str, Day] = {
    day.__name__.replace("_", "-"): day
    for day in (
        *days_broker.DAYS,
        *days_store.DAYS,
        *days_streams.DAYS,
        days_stage.stage_killed,
        days_broker.function_frozen,
    )
}
FROZEN = "function-frozen"
INSIDE = ("lethal-record", "parked-batch")
"""Days that send no frames, and so fit into the wait of the frozen function."""
ABOUT = {
    "broker-down-from-start": 20,
    "broker-killed": 40,
    "broker-black-holed": 30,
    "broker-memory-alarm": 20,
    "broker-and-sqs-down": 35,
    "confirms-lost": 10,
    "queue-deleted": 70,
    "cache-killed": 15,
    "cache-silent": 20,
    "dynamodb-down": 75,
    "dynamodb-throttles-half": 20,
    "persist-killed": 25,
    "sqs-and-dynamodb-down": 60,
    "poison-of-all-kinds": 15,
    "redrive-under-failures": 25,
    "lethal-record": 130,
    "parked-batch": 120,
    "three-times": 15,
    **{day.__name__.replace("_", "-"): 60 for day in days_streams.DAYS},
    "stage-killed": 60,
    FROZEN: 200,
}
"""Seconds that each day took on two cores."""
START_SECONDS = 30
NARROWEST = 130
"""Columns of the table, notes included."""
Keep = Callable[[Row], object]
COLUMNS = ("accepted", "stored", "retried", "dead", "lost", "unexpected", "duplicated", "refused")
COUNTS = {**{name: name for name in COLUMNS}, "refused": "503s"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    parser.add_argument("days", nargs="*", metavar="DAY", help=f"default: all of {', '.join(DAYS)}")
    chosen = parser.parse_args(arguments).days or list(DAYS)
    unknown = [name for name in chosen if name not in DAYS]
    if unknown:
        print(f"headrace: no such day: {', '.join(unknown)}. There are:", file=sys.stderr)
        print("\n".join(f"  {name:24} {said(name)}" for name in DAYS), file=sys.stderr)
        return 2
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    console = Console(highlight=False, width=max(Console().width, NARROWEST))
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
    """Run the days of these names on one stage; whatever ends it early, the days until then are shown."""
    began = time.monotonic()
    world = World()
    rows: list[Row] = []

    def keep(row: Row) -> None:
        rows.append(row)
        console.print(line(row), markup=False, soft_wrap=True)

    console.print(
        f"{counted(len(names))}, {minutes(START_SECONDS + expected_seconds(names))}; Ctrl-C ends it and cleans up"
    )
    console.print("starting RabbitMQ, Redis, DynamoDB, SQS, proxies in front of them, and a stage")
    try:
        world.start()
        for day in _days(names, world, console):
            keep(day(keep))
    finally:
        with uninterrupted():
            world.stop()
        if rows:
            console.print(table(rows))
            console.print(total(rows, len(names), time.monotonic() - began), markup=False, soft_wrap=True)
    return 0 if rows and all(row.good for row in rows) else 1


def _days(names: Sequence[str], world: World, console: Console) -> Iterator[Callable[[Keep], Row]]:
    """The days, each told who keeps rows: while one mostly waits others are done."""
    inside = inside_of(names)
    number = 0
    for name in (name for name in names if name not in inside):
        number += 1
        among = inside if name == FROZEN else ()
        last = number + len(among)
        numbers = f"{number}-{last}" if among else str(number)
        more = f" with {' and '.join(among)} in its wait" if among else ""
        seconds = minutes(expected_seconds([name, *among]))
        console.print(f"{numbers} of {len(names)}  {name}{more}, {seconds}: {said(name)}", markup=False, soft_wrap=True)
        number = last
        yield partial(_frozen, world, among) if among else lambda _keep, day=DAYS[name]: day(world)  # type: ignore[misc]


def _frozen(world: World, among: Sequence[str], keep: Keep) -> Row:
    def others() -> None:
        for name in among:
            keep(DAYS[name](world))

    return days_broker.function_frozen(world, others)


def inside_of(names: Sequence[str]) -> tuple[str, ...]:
    """Which of these days are done while another waits."""
    return tuple(name for name in names if name in INSIDE and FROZEN in names)


def expected_seconds(names: Sequence[str]) -> int:
    """How long these days take, about."""
    inside = sum(ABOUT[name] for name in inside_of(names))
    return sum(map(ABOUT.__getitem__, names)) - min(inside, ABOUT[FROZEN] - 10)


def said(name: str) -> str:
    """What happens on the day, in one sentence."""
    return (DAYS[name].__doc__ or "").splitlines()[0]


def counted(days: int) -> str:
    """How many days that is."""
    return "1 fault day" if days == 1 else f"{days} fault days"


def minutes(seconds: float) -> str:
    """Roughly how long that is."""
    return f"about {seconds:.0f} s" if seconds < 100 else f"about {seconds / 60:.0f} minutes"


def total(rows: Sequence[Row], wanted: int, seconds: float) -> str:
    """The last line: everything together, and how long it took."""
    counts = " ".join(f"{COUNTS[name]}={sum(getattr(row, name) for row in rows)}" for name in COLUMNS)
    failed = [row.day for row in rows if not row.good]
    verdict = f"{len(failed)} FAILED ({', '.join(failed)})" if failed else "every promise kept"
    days = f"{len(rows)} of {wanted} days" if len(rows) != wanted else "1 day" if wanted == 1 else f"{wanted} days"
    return f"{days} in {int(seconds) // 60} min {int(seconds) % 60:02d} s: {counts}: {verdict}"


def line(row: Row) -> str:
    """One day in one line, its problems below."""
    counts = " ".join(f"{COUNTS[name]}={getattr(row, name)}" for name in COLUMNS)
    head = f"{'ok  ' if row.good else 'FAIL'} {row.day:24} {row.seconds:5.0f} s  {counts}  {row.note}"
    return "\n".join([head, *(f"       {problem}" for problem in row.problems)])


def table(rows: Sequence[Row]) -> Table:
    """All days."""
    made = Table(box=None, pad_edge=False)
    made.add_column("day", no_wrap=True)
    for name in ("seconds", *COUNTS.values()):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("what")
    for row in rows:
        counts = [f"{getattr(row, name):,}" for name in COLUMNS]
        made.add_row(row.day, f"{row.seconds:.0f}", *counts, row.note, style="" if row.good else "bold red")
    return made


if __name__ == "__main__":
    sys.exit(main())
