"""One run of several benchmarks, one process each: their series, and the facts of the machine, in one file.

A run may be continued: rounds of a benchmark are added to those that the file has of it. So the spread of a file that
was continued on another day includes how much the machine differs from day to day.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.suite import rounds
from bench.suite.catalog import BENCHES, Bench
from bench.suite.rounds import Series

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / ".local" / "bench"
ENDED_WITHIN = 60.0
"""Seconds for a benchmark to stop its services after Ctrl-C."""


class Run:
    """A run's file: ``benches`` has the facts and the series of each benchmark by name."""

    def __init__(self, path: Path, benches: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.benches: dict[str, Any] = dict(benches or {})

    @classmethod
    def new(cls) -> Run:
        """An empty run, in a file named after the time and the commit."""
        return cls(RUNS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{commit()}.json")

    @classmethod
    def at(cls, path: Path) -> Run:
        """The run of this file, empty if there is none.

        Raises:
            ValueError: the file is not that of a run.
        """
        if not path.exists():
            return cls(path)
        try:
            return cls(path, json.loads(path.read_text(encoding="utf-8"))["benches"])
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is not the result of make bench") from None

    def write(self) -> None:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        document = {"machine": machine(), "benches": self.benches}
        self.path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def add(self, name: str, series: Sequence[Series], facts: Mapping[str, Any]) -> None:
        """Add the rounds of a benchmark to those that are there, and replace its other facts."""
        before = self.benches.get(name, {"rounds": 0, "series": []})
        values = {each["name"]: tuple(each["values"]) for each in before["series"]}
        more = [replace(each, values=values.get(each.name, ()) + each.values) for each in series]
        messages = [asdict(each) for each in more] or before["series"]
        self.benches[name] = {**facts, "rounds": before["rounds"] + facts["rounds"], "series": messages}

    def series(self, name: str) -> list[Series]:
        """What a benchmark measured."""
        return [Series.of_message(each) for each in self.benches[name]["series"]]

    @property
    def failed(self) -> list[str]:
        """The names of the benchmarks that failed."""
        return [name for name, each in self.benches.items() if each["error"]]


def machine() -> dict[str, Any]:
    """The facts of this machine."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "platform": platform.platform(terse=True)}


def commit() -> str:
    """The short commit, with ``-dirty`` if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def chosen(text: str) -> list[str]:
    """The names of a comma list, in the order of the catalog; all for an empty one.

    Raises:
        ValueError: there is no such benchmark.
    """
    names = {name.strip() for name in text.split(",") if name.strip()}
    if unknown := sorted(names - BENCHES.keys()):
        raise ValueError(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    return [name for name in BENCHES if name in names or not names]


def _say(line: str) -> None:
    print(line, flush=True)


def run_all(
    run: Run,
    names: Sequence[str],
    count: int,
    benches: Mapping[str, Bench] = BENCHES,
    say: Callable[[str], object] = _say,
) -> None:
    """Run the benchmarks ``names`` with ``count`` rounds, and add each to ``run`` and its file when it has ended."""
    minutes = sum(benches[name].seconds for name in names) / 60
    say(f"{len(names)} of {len(benches)} benchmarks with {count} rounds, about {max(1, minutes):.0f} min: {run.path}")
    for number, name in enumerate(names, 1):
        say(f"\n{number} of {len(names)}  {name}, about {benches[name].seconds} s")
        facts = {"began": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit(), "load": load()}
        began = time.monotonic()
        series, error = run_one(benches[name], count)
        seconds = round(time.monotonic() - began, 1)
        run.add(name, series, {**facts, "seconds": seconds, "rounds": 0 if error else count, "error": error})
        run.write()
        say(f"{name} FAILED: {error}" if error else f"({seconds:.0f} s)")


def load() -> float:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def run_one(bench: Bench, count: int) -> tuple[list[Series], str]:
    """Run a benchmark in its process, which prints its table; returns its series, or why it failed.

    A benchmark that misses an aim exits with 1 and still has its series. Ctrl-C reaches it as SIGINT.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.json"
        command = [sys.executable, "-m", f"bench.{bench.module}", *bench.arguments]
        command += ["--rounds", str(count), "--json", str(path)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers" / "headrace")}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        try:
            code = process.wait(bench.limit)
        except subprocess.TimeoutExpired:
            end(process)
            return [], f"it did not end within {bench.limit:.0f} s"
        except KeyboardInterrupt:
            end(process)
            raise
        if not path.exists():
            return [], f"it ended with exit code {code}"
        return rounds.read(path), ""


def end(process: subprocess.Popen[bytes]) -> None:
    """Let it stop its services, and kill it if it does not."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(ENDED_WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
