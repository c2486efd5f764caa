"""P14: a target that is away is told of everything afterwards, and nothing waits for it."""

from __future__ import annotations

import pytest

from faults.harness.harness import Harness
from faults.harness.told import TARGET
from faults.scenarios.telling import told_target_away
from localstage.client.running_stage import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_a_target_that_was_away_is_told_of_everything() -> None:
    """How soon, ``make faults`` says: a busy machine may need longer."""
    with Harness(ROOT / ".local" / "faults-told", parameters=TARGET) as harness:
        row = told_target_away(harness, away=10, rate=120)

    assert (row.lost, row.dead, row.unexpected, row.duplicated) == (0, 0, 0, 0)
    assert row.accepted > 0
    assert "untold=0" in row.note
