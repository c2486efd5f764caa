"""A cool-down after a failed call."""

from __future__ import annotations

from headrace.runtime.breaker import Cooldown
from tests.fakes.clock import Seconds


def test_a_cooldown_ends_after_its_seconds() -> None:
    clock = Seconds(0.0)
    cooldown = Cooldown(clock)

    cooldown.start()
    clock.now = 4.9
    active_before = cooldown.is_active
    clock.now = 5.0

    assert active_before
    assert not cooldown.is_active
