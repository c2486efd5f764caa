"""A file is imported into a declared stream of a whole stage, and the program is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from headrace_client import Headrace
from tests.e2e.clients import unique, until
from tests.e2e.conftest import ROOT, RunningStage

LINES = 5000
KILLED = """
import os, signal
from headrace_client.cli import importing, main
keep = importing.Import._keep
def killed(self):
    if self.kept.done >= 2000:
        os.kill(os.getpid(), signal.SIGKILL)
    keep(self)
importing.Import._keep = killed
main()
"""
"""The command line, which is killed after 2,000 lines are accepted, and before it writes that down."""


def test_an_import_that_is_killed_goes_on_and_stores_each_line_once(platform: RunningStage, tmp_path: Path) -> None:
    file, run = tmp_path / "doors.jsonl", unique("run")
    bad = range(300, LINES, 700)
    events: list[dict[str, Any]] = [
        {"door": f"{run}-{at % 3}", "badge": f"user-{at % 5}", "heldMs": -1 if at in bad else at} for at in range(LINES)
    ]
    file.write_text("".join(f"{json.dumps(each)}\n" for each in events))
    token = platform.token("importer", "events:write", "analytics:read")
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), "TOKEN": token, "HEADRACE_PROFILE": ""}
    environ["HEADRACE"] = platform.where["http_url"]

    def headrace(*program: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *program, "stream", "import", "doors", str(file), "--json"]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=100)

    first = headrace("-c", KILLED)
    kept = json.loads((tmp_path / "doors.jsonl.headrace").read_text())
    second = headrace("-m", "headrace_client.cli")

    assert (first.returncode, kept["done"]) == (-signal.SIGKILL, 1500), first.stderr
    assert second.returncode == 1, second.stderr
    found = json.loads(second.stdout)
    assert (found["accepted"], found["refused"]) == (LINES - len(bad), len(bad))
    refused = map(json.loads, (tmp_path / "doors.jsonl.refused.jsonl").read_text().splitlines())
    assert [each["line"] for each in refused] == [at + 1 for at in bad]
    good = [each for at, each in enumerate(events) if at not in bad]
    with Headrace(environ["HEADRACE"], token) as client:
        doors = client.stream("doors")

        def stored() -> list[dict[str, Any]]:
            return [each for number in range(3) for each in doors.items(key=f"{run}-{number}", limit=200)]

        rows = until(stored, lambda rows: len(rows) >= len(good))
    assert Counter((row["door"], row["badge"], row["heldMs"]) for row in rows) == Counter(
        tuple(each.values()) for each in good
    )
