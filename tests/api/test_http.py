"""Requests that schemathesis makes from the OpenAPI document, sent to a whole stage."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import CASES, Report
from tests.e2e.conftest import RunningStage
from tests.worlds.reference import HTTP
from tools.api_reference.access import SCOPES

CALLERS = {"producer": list(SCOPES), "alice": [scope for scope in SCOPES if scope != "events:write"]}
"""A trusted producer, and a user, with all other scopes."""
OPERATIONS = sum(len(methods) for methods in HTTP["paths"].values())
SHORT = 3
"""Cases for an operation in the short form."""
SAME = ("--phases", "examples,fuzzing", "--generation-deterministic", "--seed", "1")
"""Of the short form: the same requests every time."""
LONGEST = 5400


@pytest.mark.timeout(LONGEST)
def test_every_answer_has_a_documented_status_and_form(stage: RunningStage, report: Report, tmp_path: Path) -> None:
    """Also: no answer has a status of 500 or more, and what the schemas do not allow is refused."""
    with ThreadPoolExecutor() as pool:
        runs = {user: pool.submit(schemathesis, stage, user, tmp_path / user) for user in CALLERS}

    for user, run in runs.items():
        found = run.result()
        cases = found["test_cases"]
        report(f"HTTP as {user}: {cases['generated']} requests, {cases['unique_failures']} wrong, seed {found['seed']}")
        assert found["complete"]
        assert found["operations"]["tested"] == OPERATIONS
        assert cases["generated"] >= max(CASES // len(CALLERS), OPERATIONS)


def schemathesis(stage: RunningStage, user: str, folder: Path) -> dict[str, Any]:
    """The report of a run of schemathesis as ``user``; fails with its output if it found anything."""
    document, result = folder / "openapi.json", folder / "report.json"
    folder.mkdir()
    document.write_text(json.dumps(HTTP))
    token = stage.token(user, *CALLERS[user])
    each = CASES // len(CALLERS) // OPERATIONS + 1 if CASES else SHORT
    length = ("--generation-database", "none") if CASES else SAME
    command = [
        *(Path(sys.executable).with_name("st"), "--config-file", Path(__file__).with_name("schemathesis.toml")),
        *("run", document, "--url", stage.where["http_url"], "--header", f"Authorization: Bearer {token}"),
        *("--max-examples", each, "--continue-on-failure", "--no-color", "--warnings", "off"),
        *("--report", "json", "--report-json-path", result, *length),
    ]
    run = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=LONGEST)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
    found: dict[str, Any] = json.loads(result.read_text())
    return found
