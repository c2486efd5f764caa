"""What may refuse valid events of a stream before they are published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.core.caller import Caller
from headrace.core.errors import UserError
from headrace.core.stream import ValidatedEvent


class Gate(Protocol):
    """Says which events may be written."""

    def admit(self, caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[UserError | None]:
        """Why each event is refused, in order; ``now`` in microseconds. May mark an event. Never raises for a table."""
        ...
