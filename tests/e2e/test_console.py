"""The console in Chromium, on a whole stage. ``make test-console`` is the whole form, with the broker killed."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import brotli
import pytest

from ops.console import bundle
from tests.e2e.clients import unique
from tests.e2e.conftest import ROOT, RunningStage
from tests.e2e.test_dead_letters import Queues, good, moment
from tests.worlds.node import node

TESTS = ROOT / "console" / "tests"
FILES = ("overview", "views", "questions", "streams", "people", "dead-letters", "hostile", "sign-in")
WHOLE = (*FILES, "without-broker")
LARGEST = 36_000
"""Bytes of all published files, compressed."""


@pytest.fixture(scope="module")
def published() -> dict[str, Path]:
    """The files that ``python -m ops publish-console`` puts into the bucket."""
    return asyncio.run(bundle(ROOT / ".local"))


def dead_letters(stage: RunningStage) -> str:
    """Put letters into the dead lane, on a day that no other letters have; what the tests need to know of them."""
    queues, room, evil = Queues(stage), unique("room"), "<img src onerror=window.hacked=1>"
    (failed, _), (evil_day, _) = moment(), moment()
    storable = [good(room, unique("m")).decode() for _ in range(3)]
    for body in (f'{{"v": 1, "{evil}', *storable):
        queues.send(queues.dead, body, firstFailedAt=failed)
    envelope = {"v": 1, "stream": "chat", "correlationId": evil, "acceptedAt": "yesterday", "events": [{}]}
    hostile = (
        envelope,
        {**envelope, "acceptedAt": "", "stream": evil, "events": evil},
        {**envelope, "correlationId": {"a": [evil]}, "events": [{"roomId": evil, "message": evil, "timestamp": evil}]},
        [evil] * 3,
    )
    marks = {"reason": evil, "lane": evil, "redrivenAt": "soon", "correlationId": evil, "attempts": "many"}
    for each in hostile:
        queues.send(queues.dead, json.dumps(each), firstFailedAt=evil_day, **marks)
    found = {"room": room, "storable": len(storable), "day": failed[:10]}
    return json.dumps({**found, "evil": evil, "evilDay": evil_day[:10], "hostile": len(hostile)})


@pytest.mark.timeout(300)
def test_the_console_in_chromium(
    platform: RunningStage, typescript_client: Path, chromium: str, published: dict[str, Path]
) -> None:
    """All files of tests in one process, with one browser; Node names each test that fails."""
    files = [TESTS / f"{name}.test.mjs" for name in (WHOLE if os.environ.get("CONSOLE") else FILES)]
    bundled = json.dumps({key: str(path) for key, path in published.items()})
    options = ("--test", "--test-isolation=none", "--test-force-exit", "--test-timeout=240000")
    given = {"CHROMIUM": chromium, "BUNDLE": bundled, "LETTERS": dead_letters(platform)}
    where = str(platform.state_dir / "stage.json")

    print(node(*options, *files, folder=typescript_client, STAGE=where, **given))


def test_the_published_console_is_small(published: dict[str, Path]) -> None:
    size = sum(len(brotli.compress(path.read_bytes())) for path in published.values())

    print(f"console: the {len(published)} published files have {size} bytes of at most {LARGEST}")
    assert size <= LARGEST
