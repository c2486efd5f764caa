"""How features erase a person from their rows, and export what they hold about one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.items import Item
from headrace.core.stream import Stream

SKIERS = 1, 999_999_999_999
"""The least and the most number of a skier."""
PART = 100
"""Rows that are erased before the progress is looked at."""
AT_ONCE = 2
"""Rows that are erased at the same time: few, for the reads of others."""


@dataclass(frozen=True, slots=True)
class Target:
    """Who is erased: a user, and maybe the skier that the user is. Pseudonyms replace their ids in rows that stay.

    With a ``room_id``, it is a room, and no user.
    """

    user_id: str
    skier_id: str | None
    erased_at: str
    pseudonym: str
    skier_pseudonym: str
    is_last: bool = False
    """Whether it is the last round: what leads to other rows is deleted only now."""
    room_id: str = ""


Progress = Generator[tuple[str, int], None, None]
"""A name for the counts, and how many, after each small part of the work."""
Step = Callable[[Target], Progress]
"""Erases what is left in one place.

A step that ends early begins again, so what it has erased must not be found a second time.
"""
Line = tuple[str, Mapping[str, Any]]
"""The kind of a line of an export, and its row."""
Pages = Iterator[tuple[list[Line], Item | None]]
"""Lines, and the place behind them; ``None`` at the end."""
Source = Callable[[Item | None], Pages]
"""Lines from a place on. A place belongs to its source."""
Seen = Callable[["Item | None"], Iterator[tuple[list[Item], "Item | None"]]]
"""Pages of the rows that somebody may read, from a place on, each with the place behind it."""
Find = Callable[[Any, str, "Item | None"], Iterator[tuple[list[Item], "Item | None"]]]
"""Finds the rows of a table that name a person, from a place on."""

FindErased = Callable[[Stream, Sequence[tuple[str, Mapping[str, Any]]]], set[int]]
"""Which events are of people who were erased after these were accepted, or of deleted rooms, by index.

Each event comes after the canonical time of its acceptance. It raises StoreUnavailable if this cannot be known now.
"""


def lines_of(
    kind: str | Callable[[Item], str],
    find: Find,
    table: Any,
    id: str,
    start: Item | None,
    shown: Callable[[list[Item]], Iterable[Item]] = iter,
) -> Pages:
    """A line for each row that ``find`` finds in ``table``, or that ``shown`` makes of those of a page."""
    for rows, place in find(table, id, start):
        yield [(kind if isinstance(kind, str) else kind(row), row) for row in shown(rows)], place
