"""What the command line prints where its output has another encoding, or cannot be written."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.described_stage import DescribedStage, running

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"


async def headrace(stage: DescribedStage, *line: str, stdout: Any = -1, **variables: str) -> tuple[int, str, str]:
    """Run a command; returns its exit code and what it prints."""
    given = {"HEADRACE": stage.http_url, "WS": stage.ws_url, "TOKEN": "h.p.s", "HEADRACE_PROFILE": "", **variables}
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python"), **given}
    command = [sys.executable, "-m", "headrace_client.cli", *line]
    process = await asyncio.create_subprocess_exec(*command, stdout=stdout, stderr=-1, env=environ)
    printed, errors = await process.communicate()
    return process.returncode or 0, (printed or b"").decode("cp1252"), errors.decode()


@pytest.mark.parametrize("line", [("history", "kitchen"), ("tail", "kitchen", "--count", "1")])
async def test_a_text_that_the_output_cannot_encode_is_escaped(line: tuple[str, ...], tmp_path: Path) -> None:
    for name in ("openapi.json", "asyncapi.json"):
        text = (REFERENCE / name).read_text().replace("dinner is ready", "dinner \u6d4b \u00e9")
        (tmp_path / name).write_text(text)
    async with running(tmp_path) as stage:
        code, printed, errors = await headrace(stage, *line, PYTHONIOENCODING="cp1252")

    assert (code, "Traceback" in errors) == (0, False), errors
    assert "dinner \\u6d4b \u00e9" in printed


async def test_output_that_cannot_be_written_is_one_sentence() -> None:
    async with running(REFERENCE) as stage:
        full = os.open("/dev/full", os.O_WRONLY)
        no_space = await headrace(stage, "history", "kitchen", stdout=full)
        os.close(full)
        reading, writing = os.pipe()
        os.close(reading)
        nobody = await headrace(stage, "ski", "resorts", stdout=writing)
        os.close(writing)

    assert no_space == (1, "", "headrace: [Errno 28] No space left on device\n")
    assert nobody == (1, "", "headrace: [Errno 32] Broken pipe\n")
