"""Lets the files of stored messages stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.errors import FollowUpUnavailable, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.runtime.observability import report
from headrace.storage.ports import Failure
from headrace.streams.chat.attachments.files import ATTACHMENTS
from headrace.streams.chat.attachments.store import Attachments


class KeepHook:
    """Chat's hook after rows are stored. If the bucket is unavailable, the events go to the retry lane."""

    def __init__(self, attachments: Callable[[], Attachments]) -> None:
        self._attachments = attachments

    def after_store(self, _: Stream, items: Sequence[Item]) -> Sequence[Failure | FollowUpUnavailable | None]:
        messages = [item for item in items if ATTACHMENTS in item]
        failure = self._keep(messages) if messages else None
        return [failure if ATTACHMENTS in item else None for item in items]

    def _keep(self, messages: Sequence[Item]) -> FollowUpUnavailable | None:
        try:
            if not self._attachments().keep(messages):
                # Of a message that came from the archive, that was deleted meanwhile, or that waited for weeks.
                report("attachments", "a stored message names a file that is not there")
        except StoreUnavailable as error:
            report("attachments", f"files are not kept yet: {error.message}")
            return FollowUpUnavailable("the attachments could not be kept")
        return None
