"""The caller of a request, the scopes of their token, and the rules for the time and user of their events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.core import times
from headrace.core.errors import FieldError, Forbidden, InvalidEvent, TokenExpired, echo
from headrace.core.times import SECOND

CHAT_WRITE = "chat:write"
CHAT_READ = "chat:read"
EVENTS_WRITE = "events:write"
ANALYTICS_READ = "analytics:read"
OPS = "ops"


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: ``subject`` is the user id, ``scopes`` have no prefix, ``expires_at`` is in epoch seconds.

    ``address`` is the client's, if it is known. Never log or store it.
    """

    subject: str
    username: str
    scopes: frozenset[str]
    expires_at: int
    address: str = field(default="", repr=False, compare=False)

    def require(self, *scopes: str, now: int) -> None:
        """Check that the token is valid at ``now`` (microseconds) and has one of ``scopes``, if any are named.

        Raises:
            TokenExpired: the token was valid until ``expires_at``.
            Forbidden: it has none of ``scopes``.
        """
        if now >= self.expires_at * SECOND:
            raise TokenExpired("the token has expired; get a new one and connect again")
        if scopes and self.scopes.isdisjoint(scopes):
            wanted = " or ".join(scopes)
            raise Forbidden(
                f"the token does not have the scope {wanted}",
                details=[FieldError("scope", "a scope is missing", " ".join(sorted(self.scopes))[:256], wanted)],
            )

    def has(self, scope: str) -> bool:
        """Whether the token has ``scope``."""
        return scope in self.scopes


AHEAD_LIMIT = 5 * times.MINUTE
AGE_LIMIT = times.DAY


HashAddress = Callable[[str], str | None]


def without_hash(_address: str) -> None:
    """No hash, where no key is at hand."""


@dataclass(slots=True)
class SenderContext:
    """The sender of a request and the time; created once per request.

    ``subject`` and ``username`` are the token's. A ``trusted`` sender (scope events:write) may name another user and
    send events of any age. ``now`` is the server's clock in microseconds, read once. ``address`` is the client's;
    ``repr`` omits it. A stream stores no address, but at most its keyed hash: ``hash_address`` makes it, or ``None``.
    """

    subject: str
    username: str
    trusted: bool
    now: int
    address: str = field(default="", repr=False)
    hash_address: HashAddress = without_hash
    _server_times: dict[str, str] = field(default_factory=dict)

    def server_time(self, event_id: str | None) -> str:
        """A time from the server's clock.

        It is a microsecond later for each event of a request, which preserves their order. An id that is sent twice
        gets the same time, so that both are one event.
        """
        if event_id is not None and event_id in self._server_times:
            return self._server_times[event_id]
        chosen = times.iso(self.now + len(self._server_times))
        self._server_times[event_id or f"#{len(self._server_times)}"] = chosen
        return chosen


def choose_time(
    sender: SenderContext, id_field: str, event_id: str | None, timestamp: str | None, time_field: str = "timestamp"
) -> str:
    """The time of an event: the client's own, else the one inside a UUIDv7, else the server's clock.

    The first two may be at most 5 minutes ahead, and at most 24 hours old unless the sender is trusted.

    Raises:
        InvalidEvent: outside of these bounds.
    """
    if timestamp is not None:
        _check_bounds(sender, time_field, timestamp)
        return timestamp
    inside = times.uuid7_micros(event_id) if event_id is not None else None
    if inside is None:
        return sender.server_time(event_id)
    try:
        chosen = times.iso(inside)
    except ValueError:
        raise _outside(id_field, str(event_id), "contains an invalid time", sender) from None
    _check_bounds(sender, id_field, chosen)
    return chosen


def expires_at(timestamp: str, accepted_at: int, retention_days: int) -> int:
    """When the row of an event expires, in epoch seconds: at least ``retention_days`` after it was accepted.

    The days count from 24 hours after the event's time, until when it may be sent, so that sending it again changes
    nothing (P3). For an event that was older when it was accepted (a replayed log), they count from its acceptance.
    """
    return (max(times.micros_of(timestamp) + AGE_LIMIT, accepted_at) + retention_days * times.DAY) // times.SECOND


def _check_bounds(sender: SenderContext, field_name: str, timestamp: str) -> None:
    if timestamp > times.iso(sender.now + AHEAD_LIMIT):
        raise _outside(field_name, timestamp, "is too far ahead", sender)
    if not sender.trusted and timestamp < times.iso(sender.now - AGE_LIMIT):
        raise _outside(field_name, timestamp, "is too old", sender)


def _outside(field_name: str, timestamp: str, message: str, sender: SenderContext) -> InvalidEvent:
    age = "any age" if sender.trusted else "at most 24 hours old"
    allowed = f"at most 5 minutes ahead and {age}; the server's time is {times.iso(sender.now)}"
    return InvalidEvent(f"{field_name} {message}", details=[FieldError(field_name, message, timestamp, allowed)])


def choose_user(sender: SenderContext, user_id: str | None, username: str | None) -> tuple[str, str]:
    """The user id and username of an event: the token's, unless a trusted sender names others.

    Raises:
        InvalidEvent: an untrusted sender names another user.
    """
    if sender.trusted:
        if user_id is None:
            return sender.subject, username or sender.username
        return user_id, username or user_id
    allowed = "the token's own, unless it has the scope events:write"
    for name, given, own in (("userId", user_id, sender.subject), ("username", username, sender.username)):
        if given is not None and given != own:
            detail = FieldError(name, "is not the token's", echo(given), allowed)
            raise InvalidEvent(f"{name} is not the token's", details=[detail])
    return sender.subject, sender.username
