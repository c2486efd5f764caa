"""A whole stage with data for the tests from outside, and the counts that they print.

``make test-api`` sets ``API_CASES``, the least number of HTTP requests and of WebSocket frames. Without it, the tests
are short, and the same every time.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.e2e.conftest import RunningStage
from tools.api_reference.examples import Example

CASES = int(os.environ.get("API_CASES") or 0)
"""0: the short form."""
COUNTS = pytest.StashKey[list[str]]()

Report = Callable[[str], None]


@pytest.fixture(scope="session")
def stage(platform: RunningStage, recorded: list[Example]) -> RunningStage:
    """A stage with the rooms, rides and clicks of the examples."""
    return platform


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    """Takes a line with counts, which is printed at the end."""
    return request.config.stash.setdefault(COUNTS, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts."""
    for line in terminalreporter.config.stash.get(COUNTS, []):
        terminalreporter.write_line(line)
