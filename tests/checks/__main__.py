"""Runs the parts of a target side by side: ``python -m tests.checks test``.

Prints the time of each part, the whole output of a part that failed, and how busy the cores of the machine were. Each
run is a line of ``.local/checks/runs.jsonl``: commit, seed, time and result. Output of parts is in the same folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import IO, Any
from uuid import uuid4

import psutil

from tests.checks.parts import FOLDER, ROOT, TARGETS, Part, say, tracks

MARK = "HEADRACE_TEST_RUN"
"""The variable of all processes of a run."""
LOWER = ("nice", "-n", "10")
PROGRESS_SECONDS = 60.0
END_SECONDS = 2.0
"""How long what runs may take to end after Ctrl-C; then it is killed."""
BUSY = "while True: pass"


@dataclass
class Result:
    """How a part ended."""

    seconds: float
    passed: bool


@dataclass
class Run:
    """One run of a target: starts its parts, and ends all that they started."""

    target: str
    seed: int
    everything: bool
    mark: str = field(default_factory=lambda: uuid4().hex)
    results: dict[str, Result] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)
    _starting: threading.Lock = field(default_factory=threading.Lock)
    _ended: bool = False

    def run(self) -> bool:
        """Whether all parts passed.

        Raises:
            KeyboardInterrupt: Ctrl-C or SIGTERM came; nothing runs any more.
        """
        parts_of = tracks(self.target, self.everything)
        shown = len(parts_of) == 1
        threads = [
            threading.Thread(target=self._track, args=(parts, LOWER if number else (), shown), daemon=True)
            for number, parts in enumerate(parts_of)
        ]
        began = time.monotonic()
        try:
            for thread in threads:
                thread.start()
            told = began
            while any(thread.is_alive() for thread in threads):
                threads[0].join(0.2) if threads[0].is_alive() else time.sleep(0.2)
                if not shown and time.monotonic() - told > PROGRESS_SECONDS:
                    told = time.monotonic()
                    say(f"{(told - began) / 60:.0f} min: {', '.join(map(self._progress, list(self._running)))}")
        finally:
            with self._starting:  # nothing starts after it
                self._ended = True
            end(self.mark)
        return len(self.results) == sum(map(len, parts_of)) and all(each.passed for each in self.results.values())

    def _track(self, parts: Sequence[Part], lead: Sequence[str], shown: bool) -> None:
        for part in parts:
            with log(part.name).open("wb") as output:
                self._part(part, [*lead, *part.command(self.seed, self.everything)], None if shown else output)

    def _part(self, part: Part, command: Sequence[str], output: IO[bytes] | None) -> None:
        with self._starting:
            if self._ended:
                return
            began = time.monotonic()
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, MARK: self.mark},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            self._running.add(part.name)
        process.wait()
        self._running.discard(part.name)
        if self._ended:
            return
        result = Result(time.monotonic() - began, process.returncode == 0)
        self.results[part.name] = result
        if output is not None:
            text = log(part.name).read_text(errors="replace").rstrip()
            print(text.rpartition("\n")[2] if result.passed else text, flush=True)
        outcome = "passed" if result.passed else "FAILED"
        say(f"{part.name} {outcome} in {result.seconds:.0f} s")

    def _progress(self, name: str) -> str:
        found = re.findall(r"\[ *(\d+%)\]", log(name).read_text(errors="replace"))
        return f"{name} {found[-1]}" if found else name


def log(name: str) -> Any:
    return FOLDER / f"{name.replace(' ', '-')}.log"


def end(mark: str) -> None:
    """End all that a run has started, also in other sessions: stages, browsers, brokers. They have its ``mark``.

    What starts while it looks is found when it looks again.
    """
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        found = [each for each in psutil.process_iter() if is_marked(each, mark)]
        for each in found:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)
        psutil.wait_procs(found, timeout=END_SECONDS)


def is_marked(process: psutil.Process, mark: str) -> bool:
    """Whether a process has the variable of a run."""
    try:
        return bool(process.environ().get(MARK) == mark)
    except psutil.Error:
        return False


def commit() -> str:
    """The commit of the working tree, with a ``+`` if files differ from it."""
    git = ("git", "-C", str(ROOT))
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True).stdout
    return head + ("+" if changed else "")


def cpu_seconds() -> tuple[float, float]:
    """The seconds in which the cores of the machine were busy, and all, since its start."""
    times = psutil.cpu_times()
    return sum(times[:8]) - times.idle - getattr(times, "iowait", 0.0), sum(times[:8])


def keep(run: Run, seconds: float, cores: float, busy: bool, passed: bool) -> None:
    """Add a line about a run to the file of runs."""
    line = {
        "commit": commit(),
        "target": run.target,
        "seed": run.seed,
        "busy": busy,
        "seconds": round(seconds),
        "cores": round(cores, 2),
        "passed": passed,
        "parts": {name: [round(each.seconds), each.passed] for name, each in run.results.items()},
    }
    with (FOLDER / "runs.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def once(target: str, seed: int, everything: bool, busy: bool) -> bool:
    """Run a target, print its time and how busy the cores were, and keep both."""
    say(f"seed {seed}; make {target} SEED={seed} repeats the order of the tests")
    beside = [subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)] if busy else []
    run, began, before = Run(target, seed, everything), time.monotonic(), cpu_seconds()
    passed = False
    try:
        passed = run.run()
    finally:
        for each in beside:
            each.kill()
        seconds, now = time.monotonic() - began, cpu_seconds()
        cores = (now[0] - before[0]) / (now[1] - before[1])
        keep(run, seconds, cores, busy, passed)
    outcome = "passed" if passed else "FAILED"
    say(f"{target} {outcome} in {seconds / 60:.1f} min; the cores were busy for {cores:.0%} of it")
    return passed


def interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.checks")
    parser.add_argument("target", choices=["test", *TARGETS])
    parser.add_argument("--all", action="store_true", help="also the tests marked long")
    parser.add_argument("--seed", type=int, help="the order of the tests; by default another one each time")
    parser.add_argument("--runs", type=int, default=1, help="how often")
    parser.add_argument("--busy", action="store_true", help="beside a program that keeps one core busy")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        passed = [
            once(options.target, options.seed or random.randrange(1, 2**32), options.all, options.busy)
            for _ in range(options.runs)
        ]
    except KeyboardInterrupt:
        say("interrupted; everything that the tests started has ended")
        return 130
    if options.runs > 1:
        say(f"{sum(passed)} of {options.runs} runs passed; {FOLDER.relative_to(ROOT)}/runs.jsonl has a line for each")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
