"""The benchmarks run as commands, with small sizes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e.conftest import ROOT


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=110
    )


def test_a_benchmark_writes_its_rounds_and_its_ratios_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    done = make("bench", "BENCH=persist", "ROUNDS=1", f"RUN={path}", "ARGS=--items 100")

    assert done.returncode == 0, done.stdout + done.stderr
    run = json.loads(path.read_text())
    assert run["machine"]["cores"]
    assert {each["better"] for each in run["benches"]["persist"]["series"]} == {"", "lower", "higher"}

    # A run that is a thousand times worse.
    for each in run["benches"]["persist"]["series"]:
        each["values"] = [value * 1000 for value in each["values"]]
    path.write_text(json.dumps(run))
    checked = make("bench", "CHECK=1", f"RUN={path}")

    assert checked.returncode == 2, checked.stdout  # make's own code for a command that failed
    assert "worse   persist: CPU per item against batch_writer(), without latency" in checked.stdout
