"""Takes the texts of deleted messages out of events that wait somewhere, before somebody sees them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.keys import normalize_id, timestamp_sk
from headrace.core.stream import Hidden
from headrace.features.edits.change import DELETE, fold
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.runtime.observability import report
from headrace.runtime.threads import Parallel
from headrace.streams.chat.message_row import CHANGE, GONE_WHEN_DELETED, exact_key, is_message

AT_ONCE = 10
SECONDS = 5.0
"""How long deletions are looked up."""
TEXT = "message"
DELETION = ("userId", "deletedAt", "deletedBy")
"""Attributes of a message that say whether it is stored, and who deleted it when."""


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of the event at ``index``: that of a message of ``author``, or of its edit."""

    index: int
    room_id: str
    key: str
    author: object


class DeletedTexts:
    """Chat's :data:`~headrace.core.stream.EventScreen`, as :meth:`hidden`. ``monotonic`` gives seconds."""

    def __init__(self, changes: DynamoChanges, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._changes = changes
        self._monotonic = monotonic
        self._parallel = Parallel(AT_ONCE, "deletions")

    def hidden(self, events: Sequence[Any]) -> dict[int, Hidden]:
        """What is shown in place of deleted messages and their edits; if the look-up fails, of all messages."""
        texts = list(_texts(events))
        try:
            rows = self._changes.rows_of({(text.room_id, text.key) for text in texts}, *DELETION)
            due = [(text, rows[text.room_id, text.key]) for text in texts if (text.room_id, text.key) in rows]
            deadline = self._monotonic() + SECONDS
            found = self._parallel.map(lambda pair: self._deletion(*pair, deadline), due)
        except StoreUnavailable as error:
            report("deletions", f"events are shown without their texts: {error.message}")
            return {text.index: Hidden(_blank(events[text.index]), is_known=False) for text in texts}
        return {
            text.index: Hidden({**_blank(events[text.index]), "deletedAt": deletion[0], "deletedBy": deletion[1]})
            for (text, _), deletion in zip(due, found, strict=True)
            if deletion is not None
        }

    def _deletion(self, text: _Text, row: Item, deadline: float) -> tuple[str, str] | None:
        """When and by whom the message of a text was deleted, of which there is a ``row``."""
        if is_message(row):
            return (row["deletedAt"], row["deletedBy"]) if "deletedAt" in row else None
        if self._monotonic() > deadline:
            raise StoreUnavailable("there are too many to look up")
        change = fold(str(text.author), self._changes.changes_of(text.room_id, text.key))
        return (change.at, change.by) if change is not None and change.kind == DELETE else None


def _blank(event: Mapping[str, Any]) -> dict[str, Any]:
    """The event without its text and what else a deleted message has not, such as the names of its files."""
    return {name: value for name, value in {**event, TEXT: ""}.items() if name not in GONE_WHEN_DELETED}


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
