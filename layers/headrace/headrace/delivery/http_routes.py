"""HTTP routes that accept one event or a batch, with one result for each event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.error_bodies import mapping_of
from headrace.api.params import AnyBody, event_list
from headrace.api.router import Reply, Request, Route
from headrace.core.caller import EVENTS_WRITE
from headrace.core.errors import (
    FieldError,
    Forbidden,
    HeadraceError,
    InvalidEvent,
    RateLimited,
    RetryLaneUnavailable,
    TooLarge,
    Unavailable,
    echo,
)
from headrace.core.stream import Stream
from headrace.delivery.acceptor import Acceptor

BATCH_LIMIT = 500

WriteRequest = Request[None, None, AnyBody]


class Results(TypedDict):
    """One result per event, in the order sent: its id and time, and its ``lane`` or its ``error``."""

    results: list[dict[str, Any]]


Errors = tuple[type[HeadraceError], ...]


def single(stream: Stream, *path: str, status: int = 202, errors: Errors = ()) -> Route:
    """A route whose body is one event of ``stream``; the parameters ``path`` are fields of it, by the same names.

    ``errors`` are those of the stream's gate, beside Forbidden.
    """

    def post(acceptor: Acceptor, request: WriteRequest) -> Reply:
        """Send one event.

        Fields that are in the path can be left out of the body.
        """
        event = request.content
        given = request.event.get("pathParameters") or {}
        for name in path:
            if str(event.setdefault(name, given[name])) != given[name]:
                detail = FieldError(name, "is not the path's", echo(event[name]), str(echo(given[name])))
                raise InvalidEvent(details=[detail])
        return answered(acceptor, stream, [event], request, status)

    return _route(stream, post, status, errors)


def batch(stream: Stream, errors: Errors = ()) -> Route:
    """A route whose body holds up to 500 ``events`` of ``stream``; each has its own result."""

    def post(acceptor: Acceptor, request: WriteRequest) -> Reply:
        """Send up to 500 events in one request, with one result for each, in the order sent."""
        return answered(acceptor, stream, event_list(request.content, BATCH_LIMIT), request, 202)

    return _route(stream, post, 202, errors, BATCH_LIMIT)


def take_back(stream: Stream, errors: Errors = ()) -> Route:
    """A route whose body holds up to 500 ``events`` as they were sent, which are taken back."""

    def post(acceptor: Acceptor, request: WriteRequest) -> Reply:
        """Take back up to 500 events, with one result for each, in the order sent.

        Only the sender of an event can take it back, and names it by the fields with which it was sent. An event that
        is not stored yet is taken back too. Sent again under the same id, it stays taken back.
        """
        return answered(acceptor, stream, event_list(request.content, BATCH_LIMIT), request, 202)

    return _route(stream, post, 202, errors, BATCH_LIMIT)


def _route(stream: Stream, post: Any, status: int, gate_errors: Errors, batch: int = 0) -> Route:
    scopes = tuple(dict.fromkeys((stream.write_scope, EVENTS_WRITE)))
    errors: Errors = (InvalidEvent, TooLarge, RateLimited, RetryLaneUnavailable, *gate_errors)
    return Route(post, scopes, body=AnyBody, answer=Results, errors=errors, status=status, stream=stream, batch=batch)


def answered(acceptor: Acceptor, stream: Stream, events: Sequence[object], request: WriteRequest, status: int) -> Reply:
    """``status`` if any event was accepted; else 503 or 429 if any may be later, 403 if all are forbidden, 400."""
    results = acceptor.accept(stream, request.caller, events, request.correlation_id, request.meter)
    bodies = [result.to_body() for result in results]
    errors = [result.error for result in results if result.error is not None]
    if len(errors) < len(results):
        return Reply(status, {"results": bodies})
    later = [error for error in errors if isinstance(error, Unavailable | RateLimited)]
    error: HeadraceError = max(later, key=lambda each: each.retry_after) if later else errors[0]
    if len(errors) > 1 and not later and not all(isinstance(each, Forbidden) for each in errors):
        error = InvalidEvent(f"none of the {len(errors)} events is valid; see results")
    body = {**responses.refusal(error, request.correlation_id), "results": bodies}
    return Reply(mapping_of(error).status, body, responses.retry_headers(error))
