"""One stage behind proxies for the short fault scenarios."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.harness.harness import Harness
from faults.harness.stage_template import ROOT


@pytest.fixture(scope="session")
def harness() -> Iterator[Harness]:
    with Harness(ROOT / ".local" / "faults-short") as harness:
        yield harness
