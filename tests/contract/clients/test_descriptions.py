"""Both clients make every request and send every frame as the descriptions say, and take every answer."""

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
REFERENCE = ROOT / "docs" / "reference"
FORMS = pytest.mark.parametrize("other_form", [False, True])
"""In another form, answers have no optional field, and further fields that no description has."""


def check(stage: DescribedStage, answers: dict[str, Any], got: dict[str, Any], *, other_form: bool) -> None:
    """All operations and frames were asked as described, and all answers reached the program as they were."""
    assert (stage.wrong, stage.unknown) == ([], set())
    assert set(stage.asked) == stage.operations.keys() | stage.actions.keys()
    assert answers == {key: stage.answers[key] for key in answers}
    assert answers.keys() == stage.operations.keys()
    assert (ADDED in got["messages"][0]) == other_form
    assert [each["changed"] for each in got["changes"][-1:]] == ["readMark"]
    assert got["signals"][0]["name"] == "typing"


@FORMS
async def test_the_python_client_speaks_as_described(other_form: bool) -> None:
    async with running(REFERENCE, other_form=other_form) as stage:
        answers = await ask_everything(stage)
        got = await send_every_frame(stage)

    check(stage, answers, got, other_form=other_form)


@FORMS
async def test_the_typescript_client_speaks_as_described(other_form: bool) -> None:
    client = await ensure_typescript_client(ROOT / ".local", ROOT)
    async with running(REFERENCE, other_form=other_form) as stage:
        calls = []
        for key, operation in stage.operations.items():
            arguments = stage.arguments(operation)
            calls.append((key, {**arguments.pop("body", {}), **arguments}))
        given = {"httpUrl": stage.http_url, "wsUrl": stage.ws_url, "calls": calls}
        process = await asyncio.create_subprocess_exec(
            node_program(), HERE / "drive.mjs", client, stdin=-1, stdout=-1, stderr=-1
        )
        async with asyncio.timeout(60):
            printed, errors = await process.communicate(json.dumps(given).encode())
        assert process.returncode == 0, errors.decode() + str(stage.wrong)

    got = json.loads(printed)
    check(stage, got["answers"], got, other_form=other_form)
