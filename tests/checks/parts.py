"""The parts of ``make test``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".local" / "checks"
"""The output of parts, and a line for each run."""
PYTEST = (sys.executable, "-m", "pytest", "-q")


def say(text: str) -> None:
    print(f"headrace: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Part:
    """A part of ``make test``: its name, and the command for a seed and for all tests (``ALL=1``) or a choice."""

    name: str
    folders: Sequence[str] = ()
    options: Sequence[str] = ()
    make: str = ""
    """A target of the Makefile, for what is no test."""

    def command(self, seed: int, everything: bool) -> list[str]:
        """What runs it. Tests are in an order that ``seed`` decides."""
        if self.make:
            return ["make", "--no-print-directory", self.make]
        chosen = [] if everything else ["-m", "not long"]
        options = [*self.options, *(COVERAGE if everything and self.name == "unit" else ())]
        return [*PYTEST, f"--randomly-seed={seed}", *chosen, *options, *self.folders]


COVERAGE = ("--cov=headrace", "--cov-report=", "--cov-fail-under=85")
EACH = ("-n", "2", "--dist", "worksteal")
BY_FILE = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
"""The tests of one file share their broker or stage. ``tests/conftest.py`` puts the files that take long first."""

LINT = Part("lint", make="lint")
UNIT = Part("unit", ["tests/unit"], EACH)
MODEL = Part("model", ["tests/model"], EACH)
CONTRACT = Part("contract", ["tests/contract"], BY_FILE)
E2E = Part("e2e", ["tests/e2e", "tests/api", "tests/faults"], BY_FILE)
BOTH = Part("contract and e2e", [*CONTRACT.folders, *E2E.folders], BY_FILE)
VALIDATE = Part("validate", make="validate")
REHEARSAL = Part("rehearsal", ["tests/rehearsal"])

TRACKS: dict[str, Sequence[Sequence[Part]]] = {
    "test": [[BOTH], [LINT, UNIT, REHEARSAL, VALIDATE, MODEL]],
    **{part.name: [[part]] for part in (UNIT, MODEL, CONTRACT, E2E)},
}
"""By target: what runs side by side, and in it what runs one after the other. The first track waits for services half
of its time; the others have a lower priority, and use what it leaves."""
