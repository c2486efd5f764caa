"""Joins and leaves: each is added to a membership, and published to the room as a JOIN or LEAVE message.

It is also published to the channel of the member.
"""

from __future__ import annotations

from typing import Any

from headrace.api.router import Request
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import Unavailable
from headrace.core.stream import Stream
from headrace.runtime.observability import report
from headrace.streams.chat.incoming import Acceptor
from headrace.streams.chat.rooms.channels import Channels
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.memberships import Change, EventKind, Membership, Role, membership_event, shown_name

REPEAT = 5 * times.MINUTE
"""Microseconds for which a repeated request publishes its message again: the first one may have ended early."""
_NEVER = 253_402_300_799
_SENDER = Caller("#memberships", "memberships", frozenset({EVENTS_WRITE}), _NEVER)
"""The sender of these messages. No token has this subject, so no client can overwrite them."""


class Joins:
    """Adds joins and leaves to memberships, and publishes their messages through ``acceptor``.

    Adding is safe to repeat: a join or leave is an element of a set, whose id follows from its user, room and time.
    """

    def __init__(self, memberships: Memberships, chat: Stream, acceptor: Acceptor, channels: Channels) -> None:
        self._memberships = memberships
        self._chat = chat
        self._acceptor = acceptor
        self._channels = channels

    def add(
        self,
        by: Caller,
        user_id: str,
        room_id: str,
        kind: EventKind,
        at: str,
        *,
        event_id: str | None = None,
        role: Role | None = None,
        username: str | None = None,
    ) -> Membership:
        """Add a join or leave that ``by`` makes at the canonical time ``at``. Returns the new membership.

        Raises:
            StoreUnavailable.
        """
        event = membership_event(at, event_id or _id_of(kind, by, user_id, room_id, at))
        added_by = None if by.subject == user_id or by.has(EVENTS_WRITE) else by.subject
        return self._memberships.add(
            Change(
                user_id=user_id,
                room_id=room_id,
                kind=kind,
                event=event,
                role=role,
                username=username,
                added_by=added_by,
            )
        )

    def publish(
        self,
        request: Request[Any, Any, Any],
        membership: Membership,
        kind: EventKind,
        at: str,
        *,
        event_id: str | None = None,
        old: bool = False,
    ) -> bool:
        """Publish a join or leave to its member and as a message; ``event_id`` is the id that it was sent with.

        Only the caller who made the change may publish its message; callers with events:write may publish any. A
        change longer ago than ``REPEAT`` is published for callers with events:write, or with ``old``. The message has
        the time and the id of the change, so publishing it twice results in one message. Returns whether the change is
        one to publish.

        Raises:
            Unavailable: neither lane accepted it. The membership is changed; repeating the request adds the message.
        """
        caller, room_id = request.caller, membership.room_id
        trusted = caller.has(EVENTS_WRITE)
        event_id = event_id or _id_of(kind, caller, membership.user_id, room_id, at)
        is_too_old = not (old or trusted) and times.micros_of(at) < request.now - REPEAT
        if is_too_old or membership.event_at(kind, at) != event_id:
            return False
        self._channels.publish([membership.user_id], "membership", room_id)
        member = membership.user_id, membership.shown_name
        is_own = trusted or caller.subject == membership.user_id
        user_id, username = member if is_own else (caller.subject, shown_name(caller.username, caller.subject))
        message = {
            "roomId": room_id,
            "messageId": event_id,
            "timestamp": at,
            "messageType": kind.upper(),
            "message": "",
            "userId": user_id,
            "username": username,
            "memberId": member[0],
            "memberName": member[1],
        }
        (result,) = self._acceptor.accept(self._chat, _SENDER, [message], request.correlation_id, request.meter)
        if isinstance(result.error, Unavailable):
            raise result.error
        if result.error is not None:
            report("join messages", f"a {kind} is in force, but not in the history: {result.error.message}")
        return True


def _id_of(kind: EventKind, by: Caller, user_id: str, room_id: str, at: str) -> str:
    """The id of a join or leave that was sent without one. It names the caller who changes another user."""
    is_own = by.has(EVENTS_WRITE) or by.subject == user_id
    return keys.derived_id(kind, user_id, room_id, at, *([] if is_own else [by.subject]))
