"""What a message shows of the reactions to it: how many users chose each value.

A user has one reaction to a message, the last one by (time, tag). It is counted from the rows each time, never by a
counter, so that any order of the same reactions, each of them once or often, gives one result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from headrace.core import times
from headrace.core.errors import StoreThrottled
from headrace.core.items import Item, is_expired
from headrace.core.texts import alike
from headrace.core.times import Clock
from headrace.features.reactions.dynamodb import DynamoReactions
from headrace.features.reactions.reaction import VALUE
from headrace.streams.chat.message_row import REACTIONS_AT, may_have_more, place_of

SHOWN_VALUES = 20
READ_ROWS = 5_000
"""So many reactions to a message are counted, far more than the gate lets in."""
TRIES = 5
"""So often the reactions to a message are counted again while others count them too."""


def fold_reactions(rows: Iterable[Item]) -> tuple[dict[str, Any], list[Item]]:
    """What a message shows of its reactions, and those of ``rows`` that later ones have replaced.

    ``rows`` are as :meth:`.DynamoReactions.reactions_to` reads them.
    """
    last: dict[str, Item] = {}
    replaced: list[Item] = []
    for row in rows:
        if (before := last.get(row["changedBy"])) is not None:
            replaced.append(before)
        last[row["changedBy"]] = row
    values = [row[VALUE] for row in last.values() if VALUE in row]
    shown_as = {alike(value): value for value in sorted(values)}  # of those that look alike, one for any order
    counts = Counter(shown_as[alike(value)] for value in values)
    most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shown: dict[str, Any] = {"reactions": dict(most[:SHOWN_VALUES])} if most else {}
    if len(most) > SHOWN_VALUES:
        shown["moreReactions"] = True
    return shown, replaced


class ReactionCounts:
    """Counts the reactions to messages in ``store``. Every method may raise StoreUnavailable."""

    def __init__(self, store: DynamoReactions, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def complete(self, message: Item) -> None:
        """Give a message that was awaited the reactions to it."""
        if "deletedAt" not in message:
            shown, _ = self._counted(*place_of(message))
            if shown is not None:
                message |= {**shown, REACTIONS_AT: times.iso(self._clock.now())}

    def remove(self, message: Item) -> None:
        """Delete the reactions to a message."""
        if may_have_more(message):
            self._store.forget_rows(list(self._store.reactions_to(*place_of(message))))

    def forget_replaced(self, room_id: str, key: str) -> None:
        """Delete the reactions to a message that later ones of the same users have replaced."""
        self._store.forget_rows(self._counted(room_id, key)[1])

    def apply(self, message: Item, shown: list[Item]) -> None:
        """Count the reactions to a stored message. If it shows something else than before, its row is in ``shown``.

        Two that write at once are in an order: the second reads the rows again after the first has written. Who has
        written reads the rows again: a reaction that came meanwhile may have been counted by one who saw nothing to
        write.
        """
        room_id, key = place_of(message)
        found: Item | None = message
        for _ in range(TRIES):
            if found is None:
                return
            if "deletedAt" in found:
                self.remove(found)
                return
            before = found.get(REACTIONS_AT)
            counted, replaced = self._counted(room_id, key)
            self._store.forget_rows(replaced)
            gives = counted or {}
            if all(gives.get(name) == found.get(name) for name in ("reactions", "moreReactions")):
                return
            now = self._clock.now()
            at = now if before is None else max(now, times.micros_of(before) + 1)
            gives[REACTIONS_AT] = times.iso(at)
            row = self._store.show_reactions(room_id, key, gives, before, times.iso(now))
            shown += [] if row is None else [row]
            found = row or self._store.message(room_id, key)
        raise StoreThrottled("the reactions to a message are counted by too many at once")

    def _counted(self, room_id: str, key: str) -> tuple[dict[str, Any] | None, list[Item]]:
        """As :func:`fold_reactions`, of at most READ_ROWS rows; ``None`` for a message without reactions."""
        now = self._clock.now()
        rows = list(islice(self._store.reactions_to(room_id, key), READ_ROWS + 1))
        shown, replaced = fold_reactions(row for row in rows[:READ_ROWS] if not is_expired(row, now))
        if len(rows) > READ_ROWS:
            shown["moreReactions"] = True
        return shown if rows else None, replaced
