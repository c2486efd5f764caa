"""What the emulator of DynamoDB holds on to."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

from localstage.services import install
from localstage.services.dynamodb import node_command
from tests.contract.emulators import INSTALLED

PROGRAM = Path(__file__).with_name("open_iterators.cjs")
PAGES = 200


def read_pages(packages: Path, folder: Path) -> dict[str, int]:
    """Read ``PAGES`` pages; how many iterators were opened, and are still open."""
    node, variables = node_command(packages)
    command = [*node, PROGRAM, folder, str(PAGES)]
    process = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    counts: dict[str, int] = json.loads(process.stdout)
    return counts


async def test_a_page_that_was_read_leaves_no_iterator_open(tmp_path: Path) -> None:
    """An open one keeps the blocks and files that it read in memory, for as long as the stage runs."""
    packages = await install.ensure_node_packages(INSTALLED)

    counts = await asyncio.to_thread(read_pages, packages, tmp_path)

    assert counts["opened"] >= PAGES
    assert counts["open"] == 0
