"""Fixtures of the load test's own tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tests.contract.loadtest.fake_stage import FakeStage


@pytest.fixture
def stage() -> Iterator[FakeStage]:
    """A fake stage that works until a test sets one of its faults."""
    with FakeStage() as running:
        yield running
