"""A cool-down after a failed call."""

from __future__ import annotations

from headrace.runtime.breaker import Cooldown


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_cooldown_ends_after_its_seconds() -> None:
    clock = Clock()
    cooldown = Cooldown(clock)

    cooldown.start()
    clock.now = 4.9
    active_before = cooldown.is_active
    clock.now = 5.0

    assert active_before
    assert not cooldown.is_active
