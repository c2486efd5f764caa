"""What the dead lane promises: it is looked at, emptied letter by letter, and never sent to.

Only SQS itself moves records into it, out of the retry lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

RECEIVE_LIMIT = 10


@dataclass(frozen=True, slots=True)
class Held:
    """A dead record that was received and is hidden for a while.

    ``sent_at`` is when it last entered the retry lane, in microseconds; ``received`` counts every receive since then,
    looks at the dead lane included.
    """

    id: str
    receipt: str
    body: str
    attributes: Mapping[str, str]
    sent_at: int
    received: int


class DeadLane(Protocol):
    """Gives dead records out, and takes them back or away."""

    def receive(self, hold: int) -> list[Held]:
        """At most ten records, hidden for ``hold`` seconds. None: there is no other now.

        Raises:
            DeadLaneUnavailable: the queue is away.
        """
        ...

    def release(self, held: Sequence[Held]) -> None:
        """Show them again at once, as far as possible: what fails is hidden no longer than it was received for."""
        ...

    def delete(self, held: Sequence[Held]) -> list[bool]:
        """Take them away for good; whether each is known to be gone, in order. Never raises for what the queue does."""
        ...
