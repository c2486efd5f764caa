"""Lets the files of stored messages stay, and deletes those of deleted ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headrace.core.errors import FollowUpUnavailable, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Hook
from headrace.features.attachments.files import ATTACHMENTS, names_of, within
from headrace.features.attachments.store import Attachments, attachments
from headrace.runtime.observability import report
from headrace.streams.chat.stream import MESSAGE

AT_MOST = 500
"""Files that one batch keeps: a call for each, ten at once. Those of other messages follow in the retry lane."""


def keep(files: Attachments, items: Sequence[Item]) -> Sequence[FollowUpUnavailable | None]:
    """Let the ``files`` of stored messages stay. If the bucket is unavailable, the events go to the retry lane."""
    outcomes: list[FollowUpUnavailable | None] = [None] * len(items)
    places: list[int] = []
    for at, fits in within(AT_MOST, items):
        outcomes[at] = None if fits else FollowUpUnavailable("there are too many attachments at once")
        places += [at] if fits else []
    try:
        if places and not files.keep([items[at] for at in places]):
            # Of a message that came from the archive, that was deleted meanwhile, or that waited for weeks.
            report("attachments", "a stored message names a file that is not there")
    except StoreUnavailable as error:
        report("attachments", f"files are not kept yet: {error.message}")
        for at in places:
            outcomes[at] = FollowUpUnavailable("the attachments could not be kept")
    return outcomes


def after() -> list[tuple[str, Hook]]:
    return [(MESSAGE, partial(keep, attachments()))]


def remove_first(message: Item) -> None:
    """Delete the files of a message: only its row names them."""
    if ATTACHMENTS in message:
        attachments().delete_files(names_of(message))
