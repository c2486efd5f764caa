"""Takes the texts of deleted messages out of events that wait somewhere, before somebody sees them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import StoreUnavailable
from headrace.core.keys import normalize_id, timestamp_sk
from headrace.core.stream import Hidden
from headrace.runtime.observability import report
from headrace.runtime.threads import Parallel
from headrace.streams.chat.attachments.files import ATTACHMENTS
from headrace.streams.chat.change import CHANGE, DELETE, Change, exact_key, fold
from headrace.streams.chat.change_store import ChangeStore

AT_ONCE = 10
SECONDS = 5.0
"""How long deletions are looked up."""
TEXT = "message"


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of the event at ``index``: that of a message of ``author``, or of its edit."""

    index: int
    room_id: str
    key: str
    author: object


class DeletedTexts:
    """Chat's :class:`~headrace.core.stream.EventScreen`. ``monotonic`` gives seconds."""

    def __init__(self, changes: ChangeStore, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._changes = changes
        self._monotonic = monotonic
        self._parallel = Parallel(AT_ONCE, "deletions")

    def hidden(self, events: Sequence[Any]) -> dict[int, Hidden]:
        """What is shown in place of deleted messages and their edits; if the look-up fails, of all messages."""
        texts = list(_texts(events))
        try:
            changed = self._changes.changed_rooms({text.room_id for text in texts}) if texts else set()
            due = [text for text in texts if text.room_id in changed]
            deadline = self._monotonic() + SECONDS
            found = self._parallel.map(lambda text: self._deletion(text, deadline), due)
        except StoreUnavailable as error:
            report("deletions", f"events are shown without their texts: {error.message}")
            return {text.index: Hidden(_blank(events[text.index]), is_known=False) for text in texts}
        return {
            text.index: Hidden({**_blank(events[text.index]), "deletedAt": change.at, "deletedBy": change.by})
            for text, change in zip(due, found, strict=True)
            if change is not None
        }

    def _deletion(self, text: _Text, deadline: float) -> Change | None:
        if self._monotonic() > deadline:
            raise StoreUnavailable("there are too many to look up")
        change = fold(str(text.author), self._changes.changes_of(text.room_id, text.key))
        return change if change is not None and change.kind == DELETE else None


def _blank(event: Mapping[str, Any]) -> dict[str, Any]:
    """The event without its text and the names of its files."""
    return {name: value for name, value in {**event, TEXT: ""}.items() if name != ATTACHMENTS}


def _texts(events: Sequence[Any]) -> Iterator[_Text]:
    """The texts that somebody can have deleted: their messages have a room and a key."""
    for index, event in enumerate(events):
        try:
            if event.get(TEXT):
                if CHANGE in event:
                    key, author = event["key"], event["changedBy"]
                else:
                    key, author = timestamp_sk(event["timestamp"], event["messageId"], event["sender"]), event["userId"]
                yield _Text(index, normalize_id(event["roomId"]), exact_key(key), author)
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
