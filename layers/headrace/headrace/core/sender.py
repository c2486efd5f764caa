"""The sender of events, the rules for the time and the user of what they send, and what a stream accepts of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from headrace.core import times
from headrace.core.errors import FieldError, HeadraceError, InvalidEvent, echo

if TYPE_CHECKING:
    from pydantic import BaseModel

    from headrace.core.caller import Caller

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
    _given: int = 0

    def server_time(self) -> str:
        """A time from the server's clock; a microsecond later for each event of a request, to preserve their order."""
        self._given += 1
        return times.iso(self.now + self._given - 1)


def choose_time(
    sender: SenderContext, id_field: str, event_id: str | None, timestamp: str | None, time_field: str = "timestamp"
) -> str:
    """The time of an event: the client's own, else the one inside a UUIDv7, else without an id the server's clock.

    The first two may be at most 5 minutes ahead, and at most 24 hours old unless the sender is trusted. Any other id
    needs a time: sent again with the server's, it would be another event.

    Raises:
        InvalidEvent: outside of these bounds, or an id without a time.
    """
    if timestamp is not None:
        _check_bounds(sender, time_field, timestamp)
        return timestamp
    if event_id is None:
        return sender.server_time()
    inside = times.uuid7_micros(event_id)
    if inside is None:
        allowed = f"the time of the event; or a UUIDv7 as {id_field}, or no {id_field}"
        raise InvalidEvent(details=[FieldError(time_field, f"is missing beside {id_field}", None, allowed)])
    try:
        chosen = times.iso(inside)
    except ValueError:
        raise _outside(id_field, str(event_id), "contains an invalid time", sender) from None
    _check_bounds(sender, id_field, chosen)
    return chosen


def _check_bounds(sender: SenderContext, field_name: str, timestamp: str) -> None:
    if timestamp > times.iso(sender.now + times.AHEAD_LIMIT):
        raise _outside(field_name, timestamp, "is too far ahead", sender)
    if not sender.trusted and timestamp < times.iso(sender.now - times.AGE_LIMIT):
        raise _outside(field_name, timestamp, "is too old", sender)


def _outside(field_name: str, timestamp: str, message: str, sender: SenderContext) -> InvalidEvent:
    age = "any age" if sender.trusted else "at most 24 hours old"
    allowed = f"at most 5 minutes ahead and {age}; the server's time is {times.iso(sender.now)}"
    return InvalidEvent(details=[FieldError(field_name, message, timestamp, allowed)])


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
            raise InvalidEvent(details=[FieldError(name, "is not the token's", echo(given), allowed)])
    return sender.subject, sender.username


@dataclass(frozen=True, slots=True)
class ValidatedEvent:
    """A valid event with its id. ``key`` is equal for equal events; ``receipt`` is part of the response."""

    event: dict[str, Any]
    id: str
    key: tuple[str, str]
    receipt: dict[str, str]


class Incoming(NamedTuple):
    """How clients send events.

    ``accept(raw, sender)`` validates an event and adds its id, time and user, or raises InvalidEvent. ``model`` is that
    of an event as it is sent; a stream without one is not for clients.
    """

    accept: Callable[[object, SenderContext], ValidatedEvent]
    model: type[BaseModel] | None = None


class Gate(Protocol):
    """Says which valid events of a stream may be written."""

    def admit(self, caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[HeadraceError | None]:
        """Why each event is refused, in order; ``now`` in microseconds. May mark an event. Never raises for a table."""
