"""What is said of an installation that fails."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from localstage.services.install import last_line, run

NPM = """\
npm error code ECONNREFUSED
npm error FetchError: request to https://npm.test/ws failed, reason: connect ECONNREFUSED 127.0.0.1:1
npm error If you are behind a proxy, please make sure that the 'proxy' config is set properly.
npm error A complete log of this run can be found in: /tmp/debug-0.log
"""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (NPM, "failed, reason: connect ECONNREFUSED 127.0.0.1:1"),
        (
            "npm error Missing: ws@8 from lock file\nnpm error A complete log of this run can be found in: x",
            "Missing: ws@8",
        ),
        ("error: no space left\n\n", "error: no space left"),
        ("\n", "no output"),
    ],
)
def test_the_line_with_the_reason_is_said(output: str, line: str) -> None:
    assert line in last_line(output)


async def test_a_program_that_is_given_up_ends_with_its_children(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "living")  # a read of it ends when no process has it open any more
    script = "sleep 60 & echo begun >&3; wait"
    running = asyncio.create_task(run(["sh", "-c", f"exec 3>living; {script}"], os.environ, tmp_path))
    with await asyncio.to_thread((tmp_path / "living").open) as living:
        assert await asyncio.to_thread(living.readline) == "begun\n"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert await asyncio.to_thread(living.read) == ""
