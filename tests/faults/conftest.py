"""One stage behind proxies for the short fault scenarios."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.harness.harness import Harness
from faults.harness.stage_template import ROOT


@pytest.fixture(scope="session")
def harness() -> Iterator[Harness]:
    # A producer is told to wait when a record would wait for a second. Batches are small, so that few are in flight.
    parameters, edits = {"BacklogSeconds": "1"}, [("          BatchSize: 200\n", "          BatchSize: 20\n")]
    with Harness(ROOT / ".local" / "faults-short", parameters=parameters, edits=edits) as harness:
        yield harness
