"""Runs lint and the tests that import what changed: ``python -m tests.checks.touched [FILE]``.

Without a file: what differs from the last commit. A test counts if it imports a changed module, or a module that does.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.checks.parts import BY_FILE, PYTEST, ROOT, say
from tests.worlds.tracked import imports, tracked

TOOLS = ROOT / ".venv" / "bin"
PLACES = (ROOT / "layers" / "headrace", ROOT / "clients" / "python", ROOT)
"""Where modules are imported from."""
LEVELS = ("unit", "contract", "model")
STEPS = 2
"""A test imports a changed module in so many steps: itself, or by one module between them."""
MOST = 16
"""Files of contract and model tests that run in about half a minute. If more import a change, only unit tests run."""


def module(path: Path) -> str:
    """The name that the module at ``path`` is imported by."""
    place = next(place for place in PLACES if path.is_relative_to(place))
    parts = path.relative_to(place).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def importers(changed: Iterable[Path], steps: int = STEPS) -> set[Path]:
    """The changed modules, and those that import them in at most ``steps`` steps."""
    users: dict[str, set[Path]] = defaultdict(set)
    for path in tracked(ROOT, "*.py"):
        for name in imports(path):
            users[name].add(path)
    found = newest = set(changed)
    for _ in range(steps):
        newest = {user for path in newest for user in users[module(path)]} - found
        found = found | newest
    return found


def changes() -> list[Path]:
    """What differs from the last commit, and new files."""
    command = ["git", "-C", str(ROOT), "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name[3:] for name in names if name and (ROOT / name[3:]).is_file()]


def lint(paths: list[Path]) -> list[list[str]]:
    """The commands of ``make lint``, for these files."""
    names = [str(path.relative_to(ROOT)) for path in paths]
    typed = [name for name in names if not name.startswith(("tests/", "functions/", "loadtest/locustfile"))]
    ruff, mypy = str(TOOLS / "ruff"), str(TOOLS / "mypy")
    return [[ruff, "check", *names], [ruff, "format", "--check", *names], *([[mypy, *typed]] if typed else [])]


def main() -> int:
    given = [Path(name).resolve() for name in sys.argv[1:]]
    known = set(tracked(ROOT))
    for path in given:
        if path not in known:
            say(f"FILE: {path.name!r} is not a file that git tracks; give the path of one, such as tests/conftest.py")
            return 2
    changed = given or changes()
    code = [path for path in changed if path.suffix == ".py"]
    for path in sorted({*changed} - {*code}):
        say(f"left out: what reads {path.relative_to(ROOT)}; make unit lint validate")
    if not code:
        say("no module changed")
        return 0
    found = importers(code)
    tests = {
        level: sorted(path for path in found if path.is_relative_to(ROOT / "tests" / level) and "test_" in path.name)
        for level in LEVELS
    }
    slow = [*tests["contract"], *tests["model"]]
    if len(slow) > MOST:
        counts = f"{len(tests['contract'])} files of contract and {len(tests['model'])} of model tests"
        say(f"left out: {counts}, which import it; make contract model")
        run = [Path("tests/unit")]
    else:
        run = [*tests["unit"], *slow]
    failed = False
    for command in [*lint(code), *([[*PYTEST, *BY_FILE, *map(str, run)]] if run else [])]:
        failed |= subprocess.run(command, cwd=ROOT).returncode != 0
    say(f"{len(code)} modules, {len(run)} files or folders of tests: {'FAILED' if failed else 'passed'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
