"""The types of events that go to TellTarget for edits and deletions."""

from __future__ import annotations

from headrace.core.items import Item
from headrace.features.edits import FEATURE
from headrace.streams.chat.message_row import CHANGE_KEY

EDITED, DELETED = FEATURE.tells


def told(before: Item, after: Item) -> str:
    """Whether a message was edited or deleted. One that is stored as deleted was; as edited, it is only stored."""
    if after.get(CHANGE_KEY, "") > before.get(CHANGE_KEY, "") and (before or "deletedAt" in after):
        return DELETED if "deletedAt" in after else EDITED
    return ""
