"""The frames that send messages, and the frames that are answered or pushed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.error_bodies import to_body
from headrace.api.params import HEAD_FIELDS, event_list, own_fields
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.api.router import Request
from headrace.core import times
from headrace.core.fields import AcceptedLane, CanonicalTime
from headrace.core.json import Encoded, encode
from headrace.core.stream import Stream
from headrace.queues.ports import LivePublisher
from headrace.streams.chat.incoming import Acceptor
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.stream import MessageItem, PositionText

BATCH_LIMIT = 100

FrameRequest = Request[None, None, Any]


@dataclass(frozen=True, slots=True)
class Sending:
    """What the frames that send use: ``acceptor`` takes ``chat``; ``gate``, ``live`` and ``limiter`` signals."""

    chat: Stream
    acceptor: Acceptor
    gate: RoomGate
    live: LivePublisher
    limiter: RateLimiter | None


class Answer(TypedDict):
    """An answer; ``requestId`` is the frame's, if it had one, and ``correlationId`` that of the server's log lines."""

    requestId: NotRequired[responses.RequestId]
    correlationId: str


class Ack(Answer):
    """An accepted message. ``lane`` is ``main`` or ``retry``; in both lanes it will be stored."""

    type: Literal["ack"]
    roomId: str
    messageId: str
    timestamp: CanonicalTime
    lane: AcceptedLane


class Acks(Answer):
    """One result per event, in the order sent; in an answer of over 128 KB, errors have no ``details``."""

    type: Literal["acks"]
    results: list[dict[str, Any]]


class Pong(Answer):
    """The server's time. The connection's token is good until ``tokenExpiresAt``, or longer if it was renewed."""

    type: Literal["pong"]
    time: CanonicalTime
    tokenExpiresAt: CanonicalTime


class Messages(TypedDict):
    """New messages of a room, pushed after ``subscribe``.

    ``follows`` is the part after the ``-`` of the position before; ``through`` are those of positions in between. If
    your position ends with one of these, go on to ``position``. Otherwise a frame is late or lost, and with ``missed``
    it is lost: read the history since your own position. Without ``follows``, keep your position. With
    ``tokenExpiring``, the connection's token expires within 5 minutes: send `authenticate`.
    """

    type: Literal["messages"]
    roomId: str
    position: NotRequired[PositionText]
    follows: NotRequired[str]
    through: NotRequired[list[str]]
    missed: NotRequired[Literal[True]]
    tokenExpiring: NotRequired[Literal[True]]
    items: list[MessageItem]


def send_message(services: Sending, request: FrameRequest) -> dict[str, Any]:
    """Send one message; its fields are those of the frame."""
    (result,) = services.acceptor.accept(
        services.chat, request.caller, [own_fields(request.content)], request.correlation_id, request.meter
    )
    if result.error is not None:
        return {"type": "error", **result.receipt, "error": to_body(result.error, request.correlation_id)}
    return {"type": "ack", **result.to_body()}


def send_batch(services: Sending, request: FrameRequest) -> dict[str, Any]:
    """Send up to 100 messages in one frame, with one result for each, in the order sent."""
    events = event_list(request.content, BATCH_LIMIT, HEAD_FIELDS)
    return {"type": "acks", "results": results(services, services.chat, request, events)}


def results(services: Sending, stream: Stream, request: FrameRequest, events: Sequence[object]) -> Encoded:
    """Accept ``events`` of a frame: one result for each, as JSON that fits into a frame."""
    results = services.acceptor.accept(stream, request.caller, events, request.correlation_id, request.meter)
    bodies = [result.to_body() for result in results]
    encoded = encode(bodies)
    if len(encoded.encode()) > responses.FRAME_BYTES - responses.HEAD_BYTES:
        encoded = encode([_without_details(body) for body in bodies])
    return Encoded(encoded)


def _without_details(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "error": {**result["error"], "details": []}} if "error" in result else result


def ping(_services: Sending, request: FrameRequest) -> dict[str, Any]:
    """Get the server's time."""
    return {
        "type": "pong",
        "time": times.iso(request.now),
        "tokenExpiresAt": responses.expiry(request.caller.expires_at),
    }
