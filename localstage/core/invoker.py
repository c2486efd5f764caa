"""The seam between what triggers a function and what runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Invocation:
    """What came of one invocation.

    ``payload`` is the function's JSON answer, or Lambda's error object when ``error`` is set.
    ``error`` is ``None``, ``"Unhandled"`` (raised, exited, out of memory) or ``"TimedOut"``.
    """

    payload: bytes
    error: str | None = None
    cold: bool = False
    seconds: float = 0.0


class Functions(Protocol):
    """Runs functions by logical id."""

    async def invoke(self, function_id: str, event: bytes, *, lane: str | None = None) -> Invocation:
        """Run one event and return what came of it; a function's own failure is an answer, not an exception.

        ``lane`` names a dedicated single environment (a RabbitMQ mapping has exactly one); without it the
        function's shared environments serve the event, up to its concurrency limit.

        Raises:
            KeyError: no such function.
            localstage.core.errors.StageError: the stage is stopping, or the environment could not be started.
        """
        ...
