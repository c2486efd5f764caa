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
    program: Sequence[str] = ()
    """A command, for what is no test."""

    def command(self, seed: int, everything: bool) -> list[str]:
        """What runs it. Tests are in an order that ``seed`` decides."""
        if self.program:
            return list(self.program)
        chosen = [] if everything else ["-m", "not long"]
        options = [*self.options, *(COVERAGE if everything and self.name == "unit" else ())]
        return [*PYTEST, f"--randomly-seed={seed}", *chosen, *options, *self.folders]


COVERAGE = ("--cov=headrace", "--cov-report=", "--cov-fail-under=85")
EACH = ("-n", "2", "--dist", "worksteal")
BY_FILE = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
"""The tests of one file share their broker or stage. ``tests/conftest.py`` puts the files that take long first."""

MAKE = ("make", "--no-print-directory")
LINT = Part("lint", program=(*MAKE, "lint"))
UNIT = Part("unit", ["tests/unit"], EACH)
MODEL = Part("model", ["tests/model"], EACH)
CONTRACT = Part("contract", ["tests/contract"], BY_FILE)
E2E = Part("e2e", ["tests/e2e", "tests/api", "tests/faults"], BY_FILE)
BOTH = Part("contract and e2e", [*CONTRACT.folders, *E2E.folders], BY_FILE)
VALIDATE = Part("validate", program=(*MAKE, "validate"))
REHEARSAL = Part("rehearsal", ["tests/rehearsal"])
CONTAINERS = Part("containers", program=(sys.executable, "-m", "rehearsal.containers", "test-if-possible"))
"""Every function in a container, where an engine answers."""

TARGETS = {part.name: part for part in (UNIT, MODEL, CONTRACT, E2E)}


def tracks(target: str, everything: bool) -> list[list[Part]]:
    """What runs side by side, and in it what runs one after the other.

    The first track waits for services half of its time; the others have a lower priority, and use what it leaves.
    """
    if target != "test":
        return [[TARGETS[target]]]
    return [[BOTH], [LINT, UNIT, REHEARSAL, VALIDATE, MODEL, *([CONTAINERS] if everything else [])]]
