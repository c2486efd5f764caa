"""What a POST with events asks for, and the HTTP answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.api import responses
from headrace.api.auth import caller_from_http
from headrace.api.bodies import event_list, http_body
from headrace.core.caller import Caller
from headrace.core.errors import (
    FieldError,
    Forbidden,
    HeadraceError,
    InvalidEvent,
    NotFound,
    RateLimited,
    Unavailable,
    echo,
)
from headrace.core.stream import Stream
from headrace.ingest.acceptor import Acceptor, Result
from headrace.runtime.observability import Meter, correlate, report_unexpected

BATCH_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP API event, who sent it, and what it is counted under."""

    event: Mapping[str, Any]
    caller: Caller
    correlation_id: str
    meter: Meter


class HttpWrites:
    """Answers requests of one environment."""

    def __init__(self, acceptor: Acceptor, scope_prefix: str) -> None:
        self._acceptor = acceptor
        self._scope_prefix = scope_prefix

    def answer(self, event: Mapping[str, Any], route: Route) -> dict[str, Any]:
        """The answer to an HTTP API event: ``route``'s, or the error that stopped it. Never raises."""
        meter = Meter()
        correlation_id = correlate(event)
        try:
            caller = caller_from_http(event, self._scope_prefix)
            return route(self, Request(event, caller, correlation_id, meter))
        except HeadraceError as error:
            return responses.http_error(error)
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error
            report_unexpected(error)
            return responses.http_error(error)
        finally:
            meter.flush()

    def write(self, stream: Stream, raws: Sequence[object], status: int, request: Request) -> dict[str, Any]:
        """Accept ``raws`` as events of ``stream``; ``status`` says that some were."""
        results = self._acceptor.accept(stream, request.caller, raws, request.correlation_id, request.meter)
        return _answer(results, status)

    def unknown(self, _request: Request) -> dict[str, Any]:
        """Refuse a route that there is not."""
        raise NotFound("there is no such route")


Route = Callable[[HttpWrites, Request], dict[str, Any]]


def single(stream: Stream, *path: str, status: int = 202) -> Route:
    """A route whose body is one event of ``stream``; the parameters ``path`` are fields of it, by the same names."""

    def post(writes: HttpWrites, request: Request) -> dict[str, Any]:
        raw = http_body(request.event)
        given = request.event.get("pathParameters") or {}
        for name in path:
            if str(raw.setdefault(name, given[name])) != given[name]:
                detail = FieldError(name, "is not the path's", echo(raw[name]), str(echo(given[name])))
                raise InvalidEvent(f"{name} is not the path's", details=[detail])
        return writes.write(stream, [raw], status, request)

    return post


def batch(stream: Stream) -> Route:
    """A route whose body holds up to 500 ``events`` of ``stream``; each has a result of its own."""

    def post(writes: HttpWrites, request: Request) -> dict[str, Any]:
        return writes.write(stream, event_list(http_body(request.event), BATCH_LIMIT), 202, request)

    return post


def _answer(results: Sequence[Result], status: int) -> dict[str, Any]:
    """``status`` if anything was accepted; else 503 or 429 if anything may be later, 403 if all is forbidden, 400."""
    bodies = [result.to_body() for result in results]
    errors = [result.error for result in results if result.error is not None]
    if len(errors) < len(results):
        return responses.http(status, {"results": bodies})
    later = [error for error in errors if isinstance(error, Unavailable | RateLimited)]
    error: HeadraceError = max(later, key=lambda each: each.retry_after) if later else errors[0]
    if len(errors) > 1 and not later and not all(isinstance(e, Forbidden) for e in errors):
        error = InvalidEvent(f"none of the {len(errors)} events is valid; see results")
    return responses.http_error(error, results=bodies)
