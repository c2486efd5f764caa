"""Refuses messages whose attachments are not uploaded, or are not what the messages say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.caller import Caller
from headrace.core.errors import FieldError, HeadraceError, InvalidEvent, StoreUnavailable
from headrace.core.sender import ValidatedEvent
from headrace.features.attachments.files import ATTACHMENTS, within
from headrace.features.attachments.store import Attachments, attachments
from headrace.runtime.observability import report

AT_MOST = 100
"""Attachments that the messages of one request may name: each costs up to three calls, ten at once."""
_TOO_MANY = FieldError(ATTACHMENTS, "is too much for one request", None, f"{AT_MOST} attachments in its messages")


class AttachmentGate:
    """Looks at the attachments of messages. Messages without attachments cost nothing."""

    def __init__(self, attachments: Attachments) -> None:
        self._attachments = attachments

    def admit(self, _caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[HeadraceError | None]:
        """Why each event is refused, or ``None``, in order."""
        found: list[HeadraceError | None] = [None] * len(events)
        asked: list[int] = []
        for at, fits in within(AT_MOST, (each.event for each in events)):
            found[at] = None if fits else InvalidEvent(details=[_TOO_MANY])
            asked += [at] if fits else []
        if asked:
            for at, error in zip(asked, self._refusals([events[at].event for at in asked], now), strict=True):
                found[at] = error
        return found

    def _refusals(self, messages: Sequence[dict[str, Any]], now: int) -> Sequence[HeadraceError | None]:
        try:
            return self._attachments.accept(messages, now)
        except StoreUnavailable as error:
            report("attachments", f"messages with attachments are refused: {error.message}")
            text = "the attachments cannot be checked right now; send the message again as it is, under this messageId"
            return [StoreUnavailable(text)] * len(messages)


def gate() -> AttachmentGate:
    return AttachmentGate(attachments(is_impatient=True))
