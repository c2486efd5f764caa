"""Random orders of failures keep every promise of the write path.

``make test`` repeats the same runs; ``make model EXAMPLES=5000`` makes others, and prints how to repeat one.
"""

from __future__ import annotations

import pytest

from tests.model.machine import Model
from tests.model.running import ASKED, run

EXAMPLES = 120


@pytest.mark.timeout(0 if ASKED else 120)
def test_the_invariants_hold_under_any_order_of_failures() -> None:
    """P1, P2, P3, P4, P5, P6, P11, P12."""
    run(Model, ASKED or EXAMPLES, derandomize=not ASKED)
