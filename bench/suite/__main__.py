"""Runs all benchmarks and compares their ratios: ``python -m bench.suite [--bench publish,persist] [--check]``.

``--run FILE`` adds the results to a file; with ``--check`` and such a file, nothing is measured again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.suite import check
from bench.suite.run import Run, chosen, run_all
from loadtest.client.command import exit_code_of
from loadtest.client.stage_process import interruptible


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 if a benchmark failed or, with ``--check``, a ratio got worse."""
    parser = argparse.ArgumentParser(prog="python -m bench.suite", description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="", help="names separated by commas (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per number (default 5)")
    parser.add_argument("--run", type=Path, help="the file of a run, to add to or to check")
    parser.add_argument("--check", action="store_true", help="compare the ratios with the committed ones")
    parser.add_argument("--accept", action="store_true", help="write the ratios as the committed ones")
    options = parser.parse_args(arguments)
    with interruptible():
        return exit_code_of(lambda: command(options), ValueError)


def command(options: argparse.Namespace) -> int:
    """Run what is asked for, then compare.

    Raises:
        ValueError: an option has a wrong value.
    """
    if options.rounds < 1:
        raise ValueError(f"ROUNDS is a whole number from 1, not {options.rounds}")
    if options.accept and not options.check:
        raise ValueError("--accept is of --check")
    names = chosen(options.bench)
    run = Run.at(options.run) if options.run else Run.new()
    if not options.check or not options.run:
        run_all(run, names, options.rounds)
    elif not run.benches:
        raise ValueError(f"{options.run} is not the result of make bench")
    failed = [name for name in names if name in run.failed]
    if not options.check:
        print(f"\n{run.path}" + (f": FAILED: {', '.join(failed)}" if failed else ""))
        return int(bool(failed))
    ratios = {name: each for name, each in check.ratios_of(run).items() if name in names}
    found = check.compare(check.read(), ratios, failed)
    print("\n" + "\n".join(found.lines()))
    if options.accept:
        check.accept(ratios)
        print(f"written: {check.COMMITTED}")
        return int(bool(failed))
    return 0 if found.good else 1


if __name__ == "__main__":
    sys.exit(main())
