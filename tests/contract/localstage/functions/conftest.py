"""Fixtures of the function pool's tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from localstage.functions import Built, build
from tests.contract.localstage.functions.functions_harness import Stage

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="session")
def built() -> Built:
    """The runtime that the stage uses, built once."""
    return asyncio.run(build([], ROOT / ".local", runtime_requirements=ROOT / "requirements" / "runtime.txt"))


@pytest.fixture
async def stage(tmp_path: Path, built: Built) -> AsyncIterator[Stage]:
    made = Stage(tmp_path, built.runtime)
    yield made
    for pool in made.pools:
        await pool.stop()
