"""How long the messages of a room are kept, where its owner has chosen fewer days than the stage.

A message counts from its own time, without the day that the stage adds. Readers leave out what is older, whatever the
row says: a row that was stored before the choice expires as the stage says, and DynamoDB deletes rows late.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.core import times
from headrace.core.items import Item

RETENTION_SECONDS = 10.0
"""An environment sees a change of a room's retention after this, at the latest."""
MOST_DAYS = 3650
"""The most that a stage keeps messages (``ChatRetentionDays``)."""


@dataclass(frozen=True, slots=True)
class Retention:
    """``days`` from a message's time, ``None``: as the stage. What is before ``gone_before`` does not come back."""

    days: int | None = None
    gone_before: str = ""

    def kept_from(self, now: int) -> str:
        """The canonical time before which no message is shown at ``now`` (microseconds); "" without a bound."""
        if self.days is None:
            return self.gone_before
        return max(self.gone_before, times.iso(max(0, now - self.days * times.DAY)))

    def changed(self, days: int | None, now: int) -> Retention:
        """The retention after a change at ``now``. More days do not bring back what was not shown any more."""
        return Retention(days, self.kept_from(now))

    def limit(self, row: Item, timestamp: str, now: int) -> bool:
        """Let the row of a message of ``timestamp``, or of its edit, expire with it. Returns whether it does sooner."""
        if timestamp < self.gone_before:
            expires = now
        elif self.days is None:
            return False
        else:
            expires = times.micros_of(timestamp) + self.days * times.DAY
        # Not in the past: DynamoDB never deletes a row that has expired for five years.
        expires = max(expires, now) // times.SECOND
        if row.get("expiresAt", expires + 1) <= expires:
            return False
        row["expiresAt"] = expires
        return True


AS_STAGE = Retention()
