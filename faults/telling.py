"""``python -m faults.telling``: the scenario told-target-away with another length, such as ten minutes.

By default 100,000 messages are stored while the target is away. Exits with 1 if a promise was broken.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from faults.__main__ import line
from faults.harness.harness import Harness
from faults.harness.told import TARGET
from faults.scenarios.telling import told_target_away
from loadtest.client.command import Parser, count, exit_code_of
from loadtest.client.stage_process import interruptible
from localstage.core.errors import StageError


def run(away: int, rate: int) -> int:
    """Run the scenario on a stage of its own."""
    with Harness(parameters=TARGET) as harness:
        row = told_target_away(harness, away=away, rate=rate)
    print(line(row), flush=True)
    return 0 if row.good else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = Parser(prog="python -m faults.telling", description=__doc__.splitlines()[0])
    parser.add_argument("--away", type=count, default=600, help="seconds that the target is away (default 600)")
    parser.add_argument("--rate", type=count, default=170, help="messages a second (default 170)")
    parsed = parser.parse_args(arguments)
    with interruptible():
        return exit_code_of(lambda: run(parsed.away, parsed.rate), StageError)


if __name__ == "__main__":
    sys.exit(main())
