"""How triggers and APIs invoke functions."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Invocation:
    """The result of one invocation.

    ``payload`` is the function's JSON result, or Lambda's error object when ``error`` is set.
    ``error`` is ``None``, ``"Unhandled"`` (raised, exited, out of memory) or ``"TimedOut"``.
    """

    payload: bytes
    error: str | None = None
    cold: bool = False
    seconds: float = 0.0


def is_refusal(payload: bytes) -> bool:
    """Whether a failed function raised ``Exception("Unauthorized")``, which is how an authorizer asks for a 401."""
    try:
        error = json.loads(payload)
    except ValueError:
        return False
    return isinstance(error, dict) and error.get("errorMessage") == "Unauthorized"


class Functions(Protocol):
    """Runs functions by their logical ids in the template."""

    def invoke(
        self, function_id: str, event: bytes, *, dedicated_to: str | None = None, trace: str = ""
    ) -> Awaitable[Invocation]:
        """Run one event, at once; await its result. A function's failure is a result too, not an exception.

        ``dedicated_to`` is the id of an event source mapping that has one environment for its events alone, as a
        RabbitMQ mapping does. Without it the function's shared environments serve the event, up to its concurrency
        limit. ``trace`` is the trace header of the request that the event comes from, if it has one.

        Raises:
            localstage.core.errors.RecursiveInvocation: the chain of requests in ``trace`` invoked it too often.
            localstage.core.errors.StageError: the stage is stopping, or the environment could not be started.
        """
        ...


class LoggedFunctions(Functions, Protocol):
    """Functions whose logs can be read."""

    def log_tail(self, function_id: str) -> str:
        """The end of the function's log, a few KB, as Lambda returns it with ``LogType=Tail``."""
        ...
