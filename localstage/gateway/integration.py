"""Calls a function as an API Gateway integration does: with a timeout that does not stop the function."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress

from localstage.core.errors import StageError
from localstage.core.invoker import Invocation, LoggedFunctions, is_refusal
from localstage.core.reporter import Reporter

log = logging.getLogger("localstage.gateway")

MAX_PAYLOAD = 6 * 1024 * 1024
"""Bytes of a synchronous Lambda event or answer."""


class IntegrationError(Exception):
    """The integration gave no answer."""


class IntegrationTimeout(IntegrationError):
    """The function did not answer within the integration's timeout; it continues to run, as on AWS."""


class IntegrationFailed(IntegrationError):
    """The function raised, exited, timed out or could not be started."""

    def __init__(self, message: str, payload: bytes = b"") -> None:
        super().__init__(message)
        self.payload = payload


class Integrations:
    """Runs functions for routes and authorizers, and remembers those that outlive their request."""

    def __init__(self, functions: LoggedFunctions) -> None:
        self._functions = functions
        self._running: set[asyncio.Future[Invocation]] = set()
        self._reporter = Reporter(log)

    async def call(self, function_id: str, event: bytes, seconds: float) -> bytes:
        """Return the function's JSON answer.

        Args:
            function_id: the function's logical id.
            event: the event, JSON.
            seconds: the integration's timeout.

        Raises:
            IntegrationTimeout: no answer in time.
            IntegrationFailed: the function failed, or could not be started.
        """
        try:
            running = asyncio.ensure_future(self._functions.invoke(function_id, event))
            self._running.add(running)
            running.add_done_callback(self._forget)
            async with asyncio.timeout(seconds):
                invocation = await asyncio.shield(running)
        except TimeoutError:
            self._report(function_id, f"gave no answer in {seconds:g} s, the integration's timeout")
            raise IntegrationTimeout(function_id) from None
        except StageError as error:
            self._report(function_id, f"could not run: {error}")
            raise IntegrationFailed(str(error)) from None
        if invocation.error is not None:
            if not is_refusal(invocation.payload):
                self._report(function_id, f"failed ({invocation.error}); see its log")
            raise IntegrationFailed(invocation.error, invocation.payload)
        return invocation.payload

    def logged(self, function_id: str, request_id: str) -> str:
        """The newest message in the function's log about a request of an API; "" if it has none."""
        for line in reversed(self._functions.log_tail(function_id).splitlines()):
            if request_id in line and line.startswith("{"):
                with suppress(ValueError):  # a line that is cut
                    if message := json.loads(line).get("message"):
                        return str(message)
        return ""

    def report_malformed(self, function_id: str, why: str) -> None:
        """Log, at most once in five seconds, that a function's answer is not one API Gateway understands."""
        self._report(function_id, f"gave an answer that API Gateway does not understand: {why}")

    async def finish(self, seconds: float) -> None:
        """Wait at most ``seconds`` for functions that outlived their request, then stop waiting."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)
        for invocation in self._running:
            invocation.cancel()

    def _forget(self, invocation: asyncio.Future[Invocation]) -> None:
        self._running.discard(invocation)
        if not invocation.cancelled():
            invocation.exception()  # retrieved here, because a caller that timed out never will

    def _report(self, function_id: str, what: str) -> None:
        self._reporter.warn(f"{function_id} {what}", f"{function_id} {what}")
