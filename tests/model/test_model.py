"""``make test`` repeats the same runs; ``make model EXAMPLES=5000`` makes others, and prints how to repeat one."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from headrace import envelope
from tests.model.machine import Model

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES") or 0)


@pytest.mark.timeout(0 if EXAMPLES else 120)
def test_nothing_is_lost_whatever_happens_in_whatever_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """P1, P2, P3, P4, P5, P6, P11, P12."""
    monkeypatch.setattr(envelope, "MAX_EVENTS", 3)  # so that a request of eight is several messages
    run_state_machine_as_test(
        Model,
        settings=settings(
            max_examples=EXAMPLES or 100,
            stateful_step_count=50,
            derandomize=not EXAMPLES,
            database=None,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
