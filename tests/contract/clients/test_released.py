"""Both clients speak as the descriptions of this version say, and as those of the last release.

``released/`` has the descriptions of the last release (CONTRIBUTING.md, Releases). Clones often have no tags.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from localstage.services.install import node_program
from localstage.services.typescript_client import ensure_typescript_client
from tests.contract.clients.drive_python import ask_everything, send_every_frame
from tests.worlds.described_stage import ADDED, DescribedStage, running

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
NOW = ROOT / "docs" / "reference"
STAGES = pytest.mark.parametrize(
    ("folder", "other_form"),
    [(NOW, False), (NOW, True), (HERE / "released", False), (HERE / "released", True)],
    ids=["now", "now-in-another-form", "released", "released-in-another-form"],
)
"""In another form, answers have no optional field, and further fields that no description has."""
NEWER = {"resume", "check"}
"""Frames that both clients send in a form that the last release refuses: it has no ``resume``, and no ``check`` without
a subscription. The READMEs of the clients say that they need a later one. After a release this is empty."""


def names() -> dict[str, str]:
    """The ``operationId`` of each operation now; a release may have had another."""
    paths = json.loads((NOW / "openapi.json").read_text())["paths"]
    return {
        f"{method.upper()} {path}": each["operationId"]
        for path, methods in paths.items()
        for method, each in methods.items()
    }


def check(stage: DescribedStage, answers: dict[str, Any], got: dict[str, Any], *, other_form: bool) -> None:
    """All operations and frames were asked as described, and all answers reached the program as they were."""
    before = NEWER if "resume" not in stage.actions else set()
    assert [each for each in stage.wrong if each.partition(":")[0] not in before] == []
    assert stage.unknown <= before
    assert set(stage.asked) == stage.operations.keys() | stage.actions.keys()
    assert answers == {key: stage.answers[key] for key in answers}
    assert answers.keys() == stage.operations.keys()
    assert (ADDED in got["messages"][0]) == other_form
    if "resume" in stage.actions:
        assert [each["changed"] for each in got["changes"][-1:]] == ["readMark"]
        assert got["signals"][0]["name"] == "typing"


@STAGES
async def test_the_python_client_speaks_as_described(folder: Path, other_form: bool) -> None:
    async with running(folder, other_form=other_form) as stage:
        answers = await ask_everything(stage, names())
        got = await send_every_frame(stage, resumes="resume" in stage.actions)

    check(stage, answers, got, other_form=other_form)


@STAGES
async def test_the_typescript_client_speaks_as_described(folder: Path, other_form: bool) -> None:
    client = await ensure_typescript_client(ROOT / ".local", ROOT)
    async with running(folder, other_form=other_form) as stage:
        calls = []
        for key, operation in stage.operations.items():
            arguments = stage.arguments(operation)
            calls.append((key, {**arguments.pop("body", {}), **arguments}))
        given = {"httpUrl": stage.http_url, "wsUrl": stage.ws_url, "calls": calls, "resumes": "resume" in stage.actions}
        process = await asyncio.create_subprocess_exec(
            node_program(), HERE / "drive.mjs", client, stdin=-1, stdout=-1, stderr=-1
        )
        async with asyncio.timeout(60):
            printed, errors = await process.communicate(json.dumps(given).encode())
        assert process.returncode == 0, errors.decode() + str(stage.wrong)

    got = json.loads(printed)
    check(stage, got["answers"], got, other_form=other_form)


def test_this_version_has_all_that_the_last_release_had() -> None:
    now, before = DescribedStage(NOW), DescribedStage(HERE / "released")

    assert before.operations.keys() <= now.operations.keys()
    assert before.actions.keys() <= now.actions.keys()
    newer = NEWER | {"sendSignal", "editMessage", "deleteMessage", "react", "unreact"}
    assert now.actions.keys() - before.actions.keys() <= newer
