"""Refuses messages whose attachments are not uploaded, or are not what the messages say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from headrace.core.caller import Caller
from headrace.core.errors import FieldError, HeadraceError, InvalidEvent, StoreUnavailable
from headrace.core.stream import ValidatedEvent
from headrace.runtime.observability import report
from headrace.streams.chat.attachments.files import ATTACHMENTS
from headrace.streams.chat.attachments.store import Attachments

AT_MOST = 100
"""Attachments that the messages of one request may name: each costs up to three calls, ten at once."""


class Gate(Protocol):
    """Says which messages and changes may be written."""

    def admit(self, caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[HeadraceError | None]:
        """Why each event is refused, or ``None``, in order."""


class AttachmentGate:
    """Asks ``gate`` first, and looks at the attachments of the messages that it admits."""

    def __init__(self, gate: Gate, attachments: Callable[[], Attachments]) -> None:
        self._gate = gate
        self._attachments = attachments

    def admit(self, caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[HeadraceError | None]:
        """Why each event is refused, or ``None``, in order. Messages without attachments cost nothing."""
        errors = self._gate.admit(caller, events, now)
        if not any(ATTACHMENTS in each.event for each in events):
            return errors
        found, left = list(errors), AT_MOST
        for at, each in enumerate(events):
            if found[at] is None and (named := len(each.event.get(ATTACHMENTS, ()))):
                left -= named
                found[at] = self._refusal(each) if left >= 0 else _too_many()
        return found

    def _refusal(self, message: ValidatedEvent) -> HeadraceError | None:
        try:
            self._attachments().accept(message.event)
        except InvalidEvent as error:
            return error
        except StoreUnavailable as error:
            report("attachments", f"messages with attachments are refused: {error.message}")
            return StoreUnavailable("the attachments cannot be checked right now; send the message again as it is")
        return None


def _too_many() -> InvalidEvent:
    detail = FieldError(ATTACHMENTS, "is too much for one request", None, f"{AT_MOST} attachments in its messages")
    return InvalidEvent(details=[detail])
