"""One stage between proxies for the short fault days."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.harness import World
from faults.template import ROOT


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    made = World(ROOT / ".local" / "faults-short")
    try:
        made.start()
        yield made
    finally:
        made.stop()
