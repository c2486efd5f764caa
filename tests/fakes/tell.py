"""A target that others are told by, and the switch of a receiver of webhooks, in memory, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.errors import StoreUnavailable
from headrace.features.tell.switch import SwitchState
from headrace.features.tell.targets import AT_ONCE, BYTES, Announcement


class MemoryTarget:
    """``taken`` has what was told, in order. ``down``: it refuses everything.

    ``refuses`` picks those of a call that are refused; with ``kept`` they are taken nevertheless.
    """

    def __init__(self) -> None:
        self.taken: list[Announcement] = []
        self.calls = 0
        self.down = False
        self.refuses: Callable[[Announcement], bool] = lambda _: False
        self.kept = False

    def __call__(self, announcements: Sequence[Announcement]) -> list[str | None]:
        assert len(announcements) <= AT_ONCE
        assert sum(len(each.body) for each in announcements) <= BYTES
        self.calls += 1
        refused = [self.down or self.refuses(each) for each in announcements]
        self.taken += [each for each, no in zip(announcements, refused, strict=True) if not no or self.kept]
        return ["Down" if no else None for no in refused]


class MemorySwitch:
    """A switch in memory. ``down``: the table is unavailable for writes."""

    def __init__(self) -> None:
        self.row = SwitchState()
        self.down = False

    def state(self) -> SwitchState:
        return self.row

    def failed(self, count: int, reason: str, at: int) -> SwitchState:
        self._check()
        self.row = SwitchState(self.row.failures + count, self.row.failing_since or at, self.row.is_off)
        return self.row

    def recovered(self) -> None:
        self._check()
        self.row = self.row if self.row.is_off else SwitchState()

    def turn_off(self, at: int) -> None:
        self._check()
        self.row = SwitchState(self.row.failures, self.row.failing_since, is_off=True)

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable("down")
