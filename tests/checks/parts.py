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
    variables: Sequence[str] = ()
    """Variables of its process, such as ``STAGE_FEATURES=none``."""

    def command(self, seed: int, everything: bool) -> list[str]:
        """What runs it. Tests are in an order that ``seed`` decides."""
        if self.program:
            return list(self.program)
        chosen = [] if everything else ["-m", "not long"]
        options = [*self.options, *(COVERAGE if everything and self.name == "unit" else ())]
        environ = ["env", *self.variables] if self.variables else []
        return [*environ, *PYTEST, f"--randomly-seed={seed}", *chosen, *options, *self.folders]


COVERAGE = ("--cov=headrace", "--cov-report=", "--cov-fail-under=85")
EACH = ("-n", "2", "--dist", "worksteal")
BY_FILE = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
"""The tests of one file share their broker or stage. ``tests/conftest.py`` puts the files that take long first."""

MAKE = ("make", "--no-print-directory")
LINT = Part("lint", program=(*MAKE, "lint"))
UNIT = Part("unit", ["tests/unit"], EACH)
CORE = ("core", "runtime", "storage", "queues", "api", "health", "live", "streams", "delivery")
"""The folders of unit tests whose packages know no feature. Others have tests of features, or of what all deploy."""
WITHOUT_FEATURES = Part(
    "unit without features", [f"tests/unit/{each}" for each in CORE], EACH, variables=["STAGE_FEATURES=none"]
)
"""``tests/unit/conftest.py`` fails it if the core or one of its tests imports a feature."""
MODEL = Part("model", ["tests/model"], EACH)
CONTRACT = Part("contract", ["tests/contract"], BY_FILE)
E2E = Part("e2e", ["tests/e2e", "tests/api", "tests/faults"], BY_FILE)
BOTH = Part("contract and e2e", [*CONTRACT.folders, *E2E.folders], BY_FILE)
VALIDATE = Part("validate", program=(*MAKE, "validate"))
REHEARSAL = Part("rehearsal", ["tests/rehearsal"])
CONTAINERS = Part("containers", program=(sys.executable, "-m", "rehearsal.containers", "test-if-possible"))
"""Every function in a container, where an engine answers."""

TARGETS = {"unit": [UNIT, WITHOUT_FEATURES], "model": [MODEL], "contract": [CONTRACT], "e2e": [E2E]}


def tracks(target: str, everything: bool) -> list[list[Part]]:
    """What runs side by side, and in it what runs one after the other.

    The first track waits for services half of its time; the others have a lower priority, and use what it leaves.
    """
    if target != "test":
        return [TARGETS[target]]
    return [[BOTH], [LINT, UNIT, WITHOUT_FEATURES, REHEARSAL, VALIDATE, MODEL, *([CONTAINERS] if everything else [])]]
