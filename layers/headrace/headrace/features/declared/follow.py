"""The frames that follow a key of a declared stream, from a position on."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.router import Request, Route
from headrace.core.caller import ANALYTICS_READ
from headrace.core.errors import NotFound
from headrace.core.fields import CanonicalTime, StoredId
from headrace.core.keys import STORED_ID_FORM, stream_channel
from headrace.features.declared.live import FOLLOWED_SECONDS, followed
from headrace.features.declared.streams import StreamPath, stream_named
from headrace.services.shared import cache
from headrace.streams.chat.live.check_frames import TaggedPosition
from headrace.streams.chat.live.checks import MISSED_BYTES, changes_since
from headrace.streams.chat.live.frames import Answer
from headrace.streams.chat.live.subscriptions import Subscriptions
from headrace.streams.chat.messages.positions import POSITION_FORM, position
from headrace.streams.chat.messages.room_log import Since, read_since
from headrace.streams.chat.stream import PositionText


class UnfollowFrame(StreamPath):
    """A key of a declared stream."""

    unknown = "is not a field of this action"

    key: StoredId = Field(description=STORED_ID_FORM)


class FollowFrame(UnfollowFrame):
    """A key of a declared stream, and the position up to which the client has all of its events."""

    since: TaggedPosition | None = Field(default=None, description=POSITION_FORM)


class Following(Answer, TypedDict):
    """The start of what is followed: ``items`` are those since the position that was sent, in any order.

    With ``missed``, they may not be all, such as after more than two minutes: read the key's events of that time. With
    ``hasMore``, follow again from the new ``position``. Events that are stored afterwards are pushed as `events`.
    """

    type: Literal["following"]
    stream: str
    key: str
    items: list[dict[str, Any]]
    missed: bool
    hasMore: bool
    position: PositionText
    tokenExpiresAt: CanonicalTime


class Unfollowed(Answer, TypedDict):
    """The end of what was followed."""

    type: Literal["unfollowed"]
    stream: str
    key: str


class EventsPushed(TypedDict):
    """New events with a key of a declared stream, pushed after `follow`. The other fields are those of ``messages``."""

    type: Literal["events"]
    stream: str
    key: str
    position: NotRequired[PositionText]
    follows: NotRequired[str]
    through: NotRequired[list[str]]
    missed: NotRequired[Literal[True]]
    tokenExpiring: NotRequired[Literal[True]]
    items: list[dict[str, Any]]


def follow(services: Subscriptions, request: Request[None, None, FollowFrame]) -> dict[str, Any]:
    """Follow a key of a declared stream: new events are pushed to the connection as `events`.

    With ``since``, the answer has what was stored since that position. Send it after you connected again, when a frame
    is missing, and every few minutes.
    """
    body, context = request.body, request.event["requestContext"]
    channel, sent = _channel(body), body.since
    connection_id, connected_at = context["connectionId"], int(context["connectedAt"]) // 1000
    if refused := services.shares.refused(request.caller, [channel], connection_id):
        raise refused[channel]
    services.connections.subscribe({channel: None}, connection_id, request.caller, connected_at)
    cache().set_many({followed(body.stream): (b"1", FOLLOWED_SECONDS)})
    services.hints.mark_changed(channel)
    # Read after the subscription is stored and marked: every later frame is pushed to it.
    tags = {channel: "" if sent is None else sent.tag}
    since = read_since(services.history.log, tags, "followers may have missed events").get(channel, Since(""))
    found: dict[str, Any] = {
        "items": [],
        "missed": False,
        "hasMore": False,
        "position": position(request.now, since.tag),
    }
    if sent is not None:
        found = changes_since(since, MISSED_BYTES, sent, request.now)
    expiry = responses.expiry(request.caller.expires_at)
    return {"type": "following", "stream": body.stream, "key": body.key, **found, "tokenExpiresAt": expiry}


def unfollow(services: Subscriptions, request: Request[None, None, UnfollowFrame]) -> dict[str, Any]:
    """Stop following a key of a declared stream."""
    channel = _channel(request.body)
    services.connections.unsubscribe(channel, [request.event["requestContext"]["connectionId"]])
    services.hints.mark_changed(channel)
    return {"type": "unfollowed", "stream": request.body.stream, "key": request.body.key}


def _channel(body: UnfollowFrame) -> str:
    return stream_channel(f"{stream_named(body.stream).name}#{body.key}")


_READ = (ANALYTICS_READ,)
ROUTES = {
    "read_frame": {
        "follow": Route(follow, _READ, body=FollowFrame, answer=Following, errors=(NotFound,)),
        "unfollow": Route(unfollow, _READ, body=UnfollowFrame, answer=Unfollowed, errors=(NotFound,)),
    }
}
