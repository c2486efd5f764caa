"""JOIN and LEAVE messages in a room's history, published like any message."""

from __future__ import annotations

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import Unavailable
from headrace.core.keys import normalize_id
from headrace.core.times import Clock
from headrace.runtime.observability import Meter, report
from headrace.streams.chat.rooms.memberships import EventKind, Membership
from headrace.streams.chat.stream import CHAT, Acceptor

REPEAT = 5 * times.MINUTE
"""Microseconds in which a repeated request publishes its message again. The first one may have ended before that."""
_NEVER = 253_402_300_799
_SENDER = Caller("#memberships", "memberships", frozenset({EVENTS_WRITE}), _NEVER)
"""The sender of these messages. No token has this subject, so no client can overwrite them."""


class JoinMessages:
    """Publishes joins and leaves through ``acceptor``."""

    def __init__(self, acceptor: Acceptor, clock: Clock) -> None:
        self._acceptor = acceptor
        self._clock = clock

    def publish(
        self,
        caller: Caller,
        membership: Membership,
        kind: EventKind,
        timestamp: str,
        event_id: str | None,
        correlation_id: str,
        meter: Meter,
        *,
        old: bool,
    ) -> None:
        """Publish the message of a join or leave that ``caller`` made; ``event_id`` is the id it was sent with, if any.

        It belongs to the caller who added or removed the member. A caller with events:write acts in the member's name.
        A change of another caller is theirs to publish. One longer ago than ``REPEAT`` is published only with
        events:write, or as ``old``. Time and id are those of the join or leave, so publishing twice results in one
        message.

        Raises:
            Unavailable: neither lane accepted it. The membership is changed; repeating the request adds the message.
        """
        trusted = caller.has(EVENTS_WRITE)
        event_id = event_id or event_id_of(kind, caller, membership.user_id, membership.room_id, timestamp)
        is_too_old = not (old or trusted) and times.micros_of(timestamp) < self._clock.now() - REPEAT
        if is_too_old or membership.event_at(kind, timestamp) != event_id:
            return
        member = membership.user_id, shown_name(membership)
        is_own = trusted or caller.subject == membership.user_id
        user_id, username = member if is_own else (caller.subject, _name(caller.username, caller.subject))
        message = {
            "roomId": membership.room_id,
            "messageId": event_id,
            "timestamp": timestamp,
            "messageType": kind.upper(),
            "message": "",
            "userId": user_id,
            "username": username,
            "memberId": member[0],
            "memberName": member[1],
        }
        (result,) = self._acceptor.accept(CHAT, _SENDER, [message], correlation_id, meter)
        if isinstance(result.error, Unavailable):
            raise result.error
        if result.error is not None:
            report("join messages", f"a {kind} is in force, but not in the history: {result.error.message}")


def event_id_of(kind: EventKind, caller: Caller, user_id: str, room_id: str, at: str) -> str:
    """The id of a join or leave that was sent without one: another one for each user who changes others."""
    is_own = caller.has(EVENTS_WRITE) or caller.subject == user_id
    return keys.derived_id(kind, user_id, room_id, at, *([] if is_own else [caller.subject]))


def shown_name(membership: Membership) -> str:
    """The name that others see: the user's name if it is known and allowed in a message, else the id."""
    return _name(membership.username, membership.user_id)


def _name(username: str | None, user_id: str) -> str:
    try:
        return normalize_id(username or user_id)
    except ValueError:
        return user_id
