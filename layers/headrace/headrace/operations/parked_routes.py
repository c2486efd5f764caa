"""The HTTP answers about parked messages: how many there are, and bringing them back. Scope ``ops``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from headrace.api.bodies import http_body
from headrace.core.errors import FieldError, InvalidRequest, Lane, NotFound, echo
from headrace.core.times import Clock
from headrace.operators import OperatorRoutes
from headrace.runtime.observability import Meter

DEFAULT_LIMIT = 100
LIMIT = 1000
DEFAULT_RATE = 10
RATE = 100
SECONDS = 15.0


class Returned(Protocol):
    """What one slice came to."""

    @property
    def returned(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def failure(self) -> str: ...


class Parked(Protocol):
    """What is parked; see :mod:`headrace.queues.rabbitmq.parked`."""

    def depth(self) -> int: ...

    def bring_back(self, lane: Lane, limit: int, rate: float, seconds: float) -> Returned: ...


class ParkedRoutes(OperatorRoutes):
    """Answers requests of one environment."""

    complaint = "parked messages are out of reach"

    def __init__(self, parked: Parked, clock: Clock, scope_prefix: str) -> None:
        super().__init__(clock, scope_prefix)
        self._parked = parked

    def depth(self, _event: Mapping[str, Any], _meter: Meter) -> dict[str, Any]:
        """How many messages are parked."""
        return {"parked": self._parked.depth()}

    def bring_back(self, event: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """Bring messages back for one slice."""
        lane, limit, rate = _request(http_body(event))
        came = self._parked.bring_back(lane, limit, rate, SECONDS)
        meter.count("ParkedReturned", came.returned, lane=lane)
        return {"returned": came.returned, "left": came.left, **({"failure": came.failure} if came.failure else {})}

    def unknown(self, _event: Mapping[str, Any], _meter: Meter) -> dict[str, Any]:
        """Refuse a route that there is not."""
        raise NotFound("there is no such route")


def _request(body: Mapping[str, Any]) -> tuple[Lane, int, int]:
    known = ("lane", "limit", "rate")
    errors = [
        FieldError(str(echo(name)), "is not a field of this route", echo(body[name]), ", ".join(known))
        for name in body
        if name not in known
    ]
    lane: object = body.get("lane", "main")
    if lane not in ("main", "retry"):
        errors.append(FieldError("lane", "is not a lane to bring messages back to", echo(lane), "main, retry"))
    numbers = {}
    for name, default, most in (("limit", DEFAULT_LIMIT, LIMIT), ("rate", DEFAULT_RATE, RATE)):
        value = body.get(name, default)
        numbers[name] = value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
            errors.append(FieldError(name, "is out of range", echo(value), f"a whole number from 1 to {most}"))
    if errors:
        raise InvalidRequest(f"{errors[0].field} {errors[0].message}", details=errors)
    return ("retry" if lane == "retry" else "main"), numbers["limit"], numbers["rate"]
