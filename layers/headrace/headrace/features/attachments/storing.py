"""Lets the files of stored messages stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.errors import FollowUpUnavailable, StoreUnavailable
from headrace.core.items import Item
from headrace.features.attachments.files import ATTACHMENTS
from headrace.features.attachments.store import Attachments
from headrace.runtime.observability import report

AT_MOST = 500
"""Files that one batch keeps: a call for each, ten at once. Those of other messages follow in the retry lane."""


class KeepHook:
    """Chat's hook after rows are stored. If the bucket is unavailable, the events go to the retry lane."""

    def __init__(self, attachments: Callable[[], Attachments]) -> None:
        self._attachments = attachments

    def after_store(self, items: Sequence[Item]) -> Sequence[FollowUpUnavailable | None]:
        outcomes: list[FollowUpUnavailable | None] = [None] * len(items)
        left = AT_MOST
        places: list[int] = []
        for at, item in enumerate(items):
            if ATTACHMENTS in item:
                left -= len(item[ATTACHMENTS])
                places += [at] if left >= 0 else []
                outcomes[at] = None if left >= 0 else FollowUpUnavailable("there are too many attachments at once")
        if places and (failure := self._keep([items[at] for at in places])) is not None:
            for at in places:
                outcomes[at] = failure
        return outcomes

    def _keep(self, messages: Sequence[Item]) -> FollowUpUnavailable | None:
        try:
            if not self._attachments().keep(messages):
                # Of a message that came from the archive, that was deleted meanwhile, or that waited for weeks.
                report("attachments", "a stored message names a file that is not there")
        except StoreUnavailable as error:
            report("attachments", f"files are not kept yet: {error.message}")
            return FollowUpUnavailable("the attachments could not be kept")
        return None
