"""How old the runs of docs/benchmarks.md are: ``python -m tools.figures [v1.2.0]``.

A run names its date, its commit, and how long a publish with a confirm took on the machine: ``2026-12-01, `0a1b2c3`,
bare publish 0.45 ms``. With a tag, the exit code is 1 if a run is of another minor version of the clients, or of no
commit in this clone. A shallow clone lacks most commits.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

PAGE = "docs/benchmarks.md"
RUN = re.compile(r"(\d{4}-\d\d-\d\d)(?:,\s+`([0-9a-f]{7,40})`)?(?:,\s+(bare\s+publish\s+[\d.]+\s+ms))?")
MINOR = re.compile(r"\d+\.\d+")
VERSION = ("clients/python/headrace_client/__init__.py", "clients/python/pyproject.toml")
"""The files that have, or had, the version of the clients."""


def git(root: Path, *arguments: str) -> str:
    """What git prints; nothing for a commit that it does not know."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main(tag: str, root: Path = Path()) -> int:
    """Print a line for each run; 1 if there is a tag, and a run is not of its minor version."""
    others, text = 0, (root / PAGE).read_text(encoding="utf-8")
    for found in RUN.finditer(text):
        day, commit, bare = found[1], found[2] or "no commit", found[3] or "no bare publish"
        line = text.count("\n", 0, found.start()) + 1
        days = (datetime.now(UTC).date() - date.fromisoformat(day)).days
        commits = git(root, "rev-list", "--count", f"{commit}..HEAD") or "unknown"
        version = MINOR.findall(git(root, "grep", "-hE", '^_*version_* = "', commit, "--", *VERSION))[:1]
        is_other = bool(tag) and (not version or version != MINOR.findall(tag)[:1])
        others += is_other
        about = f"{days} days, {commits} commits, version {''.join(version) or 'unknown'}, {bare}"
        print(f"{PAGE}:{line}: {commit}: {about}{f', not of {tag}' if is_other else ''}")
    if others:
        print(f"{others} runs are not of {tag}: measure them again, or take them out", file=sys.stderr)
    return min(others, 1)


if __name__ == "__main__":
    sys.exit(main("".join(sys.argv[1:])))
