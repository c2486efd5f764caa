"""JOIN and LEAVE messages in a room's history, published like any message."""

from __future__ import annotations

from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import Unavailable
from headrace.core.keys import normalize_id
from headrace.core.times import Clock
from headrace.ingest.acceptor import Acceptor
from headrace.runtime.observability import Meter, report
from headrace.streams.chat.stream import CHAT
from headrace.streams.chat.tables.memberships import EventKind, Membership

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
        self, membership: Membership, kind: EventKind, timestamp: str, correlation_id: str, meter: Meter, *, old: bool
    ) -> None:
        """Publish the message of a join or leave. One longer ago than ``REPEAT`` is published only if ``old``.

        Time and id are those of the join or leave, so publishing twice results in one message.

        Raises:
            Unavailable: neither lane accepted it. The membership is changed; repeating the request adds the message.
        """
        event_id = membership.event_at(kind, timestamp)
        if event_id is None or (not old and times.micros_of(timestamp) < self._clock.now() - REPEAT):
            return
        message = {
            "roomId": membership.room_id,
            "messageId": event_id,
            "timestamp": timestamp,
            "messageType": kind.upper(),
            "message": "",
            "userId": membership.user_id,
            "username": shown_name(membership),
        }
        (result,) = self._acceptor.accept(CHAT, _SENDER, [message], correlation_id, meter)
        if isinstance(result.error, Unavailable):
            raise result.error
        if result.error is not None:
            report("join messages", f"a {kind} is in force, but not in the history: {result.error.message}")


def shown_name(membership: Membership) -> str:
    """The name that others see: the user's name if it is known and allowed in a message, else the id."""
    try:
        return normalize_id(membership.username or membership.user_id)
    except ValueError:
        return membership.user_id
