"""A whole stage with data for the tests from outside, and the counts that they print.

``make test-api`` sets ``API_CASES``, the least number of HTTP requests and of WebSocket frames. Without it, the tests
are short, and the same every time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from loadtest.client.target import Target
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage
from tools.api_reference.examples import Example
from tools.api_reference.recording import record

CASES = int(os.environ.get("API_CASES") or 0)
"""0: the short form."""
COUNTS = pytest.StashKey[list[str]]()

Report = Callable[[str], None]


@contextmanager
def stage_of_examples(name: str) -> Iterator[tuple[RunningStage, list[Example]]]:
    """A stage with the rooms, rides and clicks of the examples of the reference, and its answers to them."""
    stage = fresh_stage(name, ROOT / "template.yaml")
    try:
        where = stage.wait_ready().where
        yield stage, record(Target(where["http_url"], where["websocket_url"], where["token_url"]))
    finally:
        stage.stop()


@pytest.fixture(scope="module")
def stage() -> Iterator[RunningStage]:
    """A stage for generated requests: they erase users, leave rooms and move dead letters, as operators may."""
    with stage_of_examples("api") as (stage, _):
        yield stage


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    """Takes a line with counts, which is printed at the end."""
    return request.config.stash.setdefault(COUNTS, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts."""
    for line in terminalreporter.config.stash.get(COUNTS, []):
        terminalreporter.write_line(line)
