"""The frame that sends a signal, and the frame that subscribers get of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from headrace.api.params import Params
from headrace.api.rates.rate_limiter import SIGNALS
from headrace.api.router import Request, Route
from headrace.core import keys, times
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import NotFound
from headrace.core.fields import NAME_FORM, CanonicalTime, Id, Name, Text, accepts
from headrace.live.signals import to_copy
from headrace.queues.names import SIGNAL_QUEUE
from headrace.queues.ports import Outgoing
from headrace.streams.chat.live.frames import Answer, Sending

DATA_BYTES = 1024
TYPING = "typing"
"""The name of signals that say that their sender is writing. In each room, one of a user passes in three seconds."""


def _bounded(value: str) -> str:
    if len(value.encode()) > DATA_BYTES:
        raise PydanticCustomError("text_too_long", "is longer than 1024 bytes")
    return value


class SignalFrame(Params):
    """A signal as a client sends it."""

    unknown = "is not a field of this action"

    room_id: Id = Field(description=keys.ID_FORM)
    name: Name = Field(description=f"what it says, such as typing: {NAME_FORM}")
    data: Annotated[Text, AfterValidator(_bounded), accepts(maxLength=DATA_BYTES)] = Field(
        default="", description="a text of at most 1024 bytes in UTF-8"
    )


class SignalSent(Answer, TypedDict):
    """The broker was sent the signal. It is not stored, and whether it reaches anyone is unknown."""

    type: Literal["signalSent"]
    roomId: str


class Signal(TypedDict):
    """A signal of another connection in a room that you follow, pushed after ``subscribe``. No history has it.

    `timestamp` is when it was sent. Of several signals with one `name` and one sender, you may get the latest only.
    """

    type: Literal["signal"]
    roomId: str
    userId: str
    username: str
    name: str
    data: str
    timestamp: CanonicalTime


def send_signal(services: Sending, request: Request[None, None, SignalFrame]) -> dict[str, Any]:
    """Push a short text, such as "typing", to those who follow a room now, and never store it.

    A user who may write in the room may send it; the room must exist. Do not send a signal again after an
    error: a later one says more. Of signals with the ``name`` `typing`, one passes in three seconds for each user and
    room. The others are answered with `rate_limited`.

    Raises:
        RateLimited: the caller's last typing signal in the room is younger than three seconds.
        Forbidden, NotFound: the caller may not write in the room, or there is none.
        Unavailable: the right could not be checked, or the broker takes nothing now.
    """
    sent, caller = request.body, request.caller
    if sent.name == TYPING and services.limiter is not None:  # before the right is read, so that a flood reads nothing
        _, refusal = services.limiter.admit(caller, 1, request.meter, "typing", sent.room_id)
        if refusal is not None:
            raise refusal
    services.gate.check(caller, sent.room_id, request.now)
    frame = {
        "type": "signal",
        "roomId": sent.room_id,
        "userId": caller.subject,
        "username": caller.username,
        "name": sent.name,
        "data": sent.data,
        "timestamp": times.iso(request.now),
    }
    body = to_copy(request.event["requestContext"]["connectionId"], frame)
    failure = services.live.publish([Outgoing(SIGNAL_QUEUE, body, request.correlation_id)])
    if failure is not None:
        raise failure
    return {"type": "signalSent", "roomId": sent.room_id}


ROUTES = {
    "receive_frame": {
        "sendSignal": Route(
            send_signal,
            (CHAT_WRITE, EVENTS_WRITE),
            body=SignalFrame,
            answer=SignalSent,
            errors=(NotFound,),
            limit=SIGNALS,
        )
    }
}
