"""The switch of a receiver of webhooks in memory, for tests."""

from __future__ import annotations

from headrace.core.errors import StoreUnavailable
from headrace.features.tell.webhooks import SwitchState


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
