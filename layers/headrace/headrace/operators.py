"""Answers requests that only operators may make: scope ``ops``, every error an answer, what was counted written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.api import responses
from headrace.api.auth import caller_from_http
from headrace.core.caller import OPS
from headrace.core.errors import HeadraceError
from headrace.core.times import Clock
from headrace.runtime.observability import Meter, report, report_unexpected


class OperatorRoutes:
    """Base of routes for operators; ``complaint`` opens the log line of what is the platform's own fault."""

    complaint = "a request of an operator failed"

    def __init__(self, clock: Clock, scope_prefix: str) -> None:
        self._clock = clock
        self._scope_prefix = scope_prefix

    def answer(self, event: Mapping[str, Any], route: Callable[[Any, Mapping[str, Any], Meter], Any]) -> dict[str, Any]:
        """The answer to an HTTP API event: ``route``'s, or the error that stopped it. Never raises."""
        meter = Meter()
        try:
            caller_from_http(event, self._scope_prefix).require(OPS, now=self._clock.now())
            return responses.http(200, route(self, event, meter))
        except HeadraceError as error:
            answer = responses.http_error(error)
            if answer["statusCode"] >= 500:
                report(type(error).__name__, f"{self.complaint}: {error.message}", level="error")
            return answer
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error
            report_unexpected(error)
            return responses.http_error(error)
        finally:
            meter.flush()
