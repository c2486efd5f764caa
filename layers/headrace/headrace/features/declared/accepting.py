"""How declared events are sent: by ``POST /streams/{stream}/events``, and in the frame ``sendEvents``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from headrace.api.params import HEAD_FIELDS, AnyBody, event_list
from headrace.api.rates.rate_limiter import EVENTS
from headrace.api.router import Reply, Request, Route
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import (
    FieldError,
    InvalidEvent,
    InvalidRequest,
    NotFound,
    RateLimited,
    RetryLaneUnavailable,
    TooLarge,
)
from headrace.core.fields import Text
from headrace.core.stream import Stream
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.http_routes import BATCH_LIMIT, Results, answered
from headrace.features.declared.streams import STREAM_FORM, StreamPath, stream_named
from headrace.streams.chat.live import frames


class EventsBody(AnyBody):
    """One event of a declared stream, with the fields that its schema has, or a list of them as ``events``."""

    events: list[dict[str, Any]] | None = Field(default=None, min_length=1, max_length=BATCH_LIMIT)


class EventAcks(frames.Answer):
    """One result per event, in the order sent; in an answer of over 128 KB, errors have no ``details``."""

    type: Literal["eventAcks"]
    results: list[dict[str, Any]]


class EventsFrame(AnyBody):
    """Events of a declared stream."""

    stream: Text = Field(description=STREAM_FORM)
    events: list[dict[str, Any]] = Field(min_length=1, max_length=frames.BATCH_LIMIT)


def post(acceptor: Acceptor, request: Request[StreamPath, None, EventsBody]) -> Reply:
    """Send one event of a declared stream, or up to 500, with one result for each, in the order sent.

    Its fields are those of the schema that the list of streams has. Events go under ``events``; one event can be the
    body itself.
    """
    stream = _writable(request.path.stream, request)
    content = request.content
    events = event_list(content, BATCH_LIMIT) if "events" in content else [content]
    return answered(acceptor, stream, events, request, 202)  # type: ignore[arg-type]


def send_events(services: frames.Sending, request: frames.FrameRequest) -> dict[str, Any]:
    """Send up to 100 events of a declared stream in one frame, with one result for each, in the order sent."""
    if "stream" not in request.content:
        raise InvalidRequest(details=[FieldError("stream", "is missing", None, STREAM_FORM)])
    stream = _writable(request.content["stream"], request)
    events = event_list(request.content, frames.BATCH_LIMIT, (*HEAD_FIELDS, "stream"))
    return {"type": "eventAcks", "results": frames.results(services, stream, request, events)}


def _writable(name: object, request: Request[Any, Any, Any]) -> Stream:
    stream = stream_named(name)
    request.caller.require(stream.write_scope, EVENTS_WRITE, now=request.now)
    return stream


_SCOPES = (CHAT_WRITE, EVENTS_WRITE)
_ERRORS = (InvalidEvent, NotFound, RateLimited, RetryLaneUnavailable, TooLarge)

ROUTES = {
    "receive_http": {
        "POST /streams/{stream}/events": Route(
            post,
            scopes=_SCOPES,
            path=StreamPath,
            body=EventsBody,
            answer=Results,
            errors=_ERRORS,
            status=202,
            limit=EVENTS,
        )
    },
    "receive_frame": {
        "sendEvents": Route(
            send_events, scopes=_SCOPES, body=EventsFrame, answer=EventAcks, errors=_ERRORS, limit=EVENTS
        )
    },
}
