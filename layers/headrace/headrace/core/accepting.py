"""What a stream accepts: how its events are sent, who may send them, and the result of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from headrace.core.error_bodies import to_body
from headrace.core.errors import HeadraceError, Lane

if TYPE_CHECKING:
    from pydantic import BaseModel

    from headrace.core.caller import Caller
    from headrace.core.sender import SenderContext


@dataclass(frozen=True, slots=True)
class ValidatedEvent:
    """A valid event with its id. ``key`` is equal for equal events; ``receipt`` is part of the response."""

    event: dict[str, Any]
    id: str
    key: tuple[str, str]
    receipt: dict[str, str]


@dataclass(slots=True)
class Result:
    """The result of one event: the ``lane`` it is in, or the ``error`` that refused it.

    ``receipt`` is its id, time and other fields of the answer; for an invalid event the id that was sent, if any.
    """

    receipt: Mapping[str, str]
    lane: Lane | None = None
    error: HeadraceError | None = None

    def to_body(self) -> dict[str, Any]:
        """The form in which responses show it."""
        if self.error is not None:
            return {**self.receipt, "error": to_body(self.error)}
        return {**self.receipt, "lane": self.lane}


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
