"""``python -m faults [SCENARIO ...]``: runs fault scenarios, and prints a line for each with what was counted.

Exits with 1 if a scenario broke a promise.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import groupby

from faults.harness.harness import FOLDER, PICTURES, Harness
from faults.harness.ledger import Row
from faults.scenarios import SCENARIOS, stage_of
from loadtest.client.command import exit_code_of
from loadtest.client.stage_process import interruptible
from localstage.client.running_stage import ROOT
from localstage.core.errors import StageError
from localstage.services.services import BROKER_NODES

WIDEST = max(map(len, SCENARIOS))
COLUMNS = ("accepted", "stored", "retried", "dead", "lost", "unexpected", "duplicated", "refused")
COUNTS = {**{name: name for name in COLUMNS}, "retried": "retries", "refused": "503s"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"default: all of {', '.join(SCENARIOS)}")
    chosen = parser.parse_args(arguments).scenarios or list(SCENARIOS)
    unknown = [name for name in chosen if name not in SCENARIOS]
    if unknown:
        print(f"headrace: no such scenario: {', '.join(unknown)}. There are:", file=sys.stderr)
        print("\n".join(f"  {name:{WIDEST}}  {summary(name)}" for name in SCENARIOS), file=sys.stderr)
        return 2
    with interruptible():
        return exit_code_of(lambda: run(chosen), StageError)


def run(names: Sequence[str]) -> int:
    """Run these scenarios, on one stage for each number of nodes of RabbitMQ and set of parameters.

    The last line counts the finished ones even after an error.
    """
    began = time.monotonic()
    rows: list[Row] = []
    print(f"{counted(len(names), 'fault scenario')}; Ctrl-C ends it and cleans up")
    print("starting RabbitMQ, Redis, DynamoDB, SQS, proxies in front of them, and a stage", flush=True)
    try:
        for (nodes, parameters), group in groupby(names, stage_of):
            with Harness(variables={BROKER_NODES: str(nodes)}, parameters=dict(parameters)) as harness:
                for name in group:
                    print(f"{len(rows) + 1} of {len(names)}  {name}: {summary(name)}", flush=True)
                    rows.append(row := SCENARIOS[name](harness))
                    print(line(row), flush=True)
    finally:
        if rows:
            print(total(rows, len(names), time.monotonic() - began))
            print(f"timelines: {(FOLDER / PICTURES).relative_to(ROOT)}")
    return 0 if rows and all(row.good for row in rows) else 1


def summary(name: str) -> str:
    """What happens in the scenario, in one sentence."""
    return (SCENARIOS[name].__doc__ or "").splitlines()[0]


def counted(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def total(rows: Sequence[Row], wanted: int, seconds: float) -> str:
    """The last line: the sums, the duration and the verdict."""
    counts = " ".join(f"{COUNTS[name]}={sum(getattr(row, name) for row in rows)}" for name in COLUMNS)
    failed = [row.scenario for row in rows if not row.good]
    verdict = f"{len(failed)} FAILED ({', '.join(failed)})" if failed else "every promise kept"
    ran = counted(wanted, "scenario") if len(rows) == wanted else f"{len(rows)} of {counted(wanted, 'scenario')}"
    return f"{ran} in {int(seconds) // 60} min {int(seconds) % 60:02d} s: {counts}: {verdict}"


def line(row: Row) -> str:
    """One scenario in one line, its problems below."""
    counts = " ".join(f"{COUNTS[name]}={getattr(row, name)}" for name in COLUMNS)
    head = f"{'ok  ' if row.good else 'FAIL'} {row.scenario:{WIDEST}} {row.seconds:5.0f} s  {counts}  {row.note}"
    return "\n".join([head, *(f"       {problem}" for problem in row.problems)])


if __name__ == "__main__":
    sys.exit(main())
