"""The type of event that goes to TellTarget for reactions."""

from __future__ import annotations

from headrace.core.items import Item
from headrace.features.reactions import FEATURE
from headrace.streams.chat.message_row import REACTIONS_AT

(REACTED,) = FEATURE.tells


def told(before: Item, after: Item) -> str:
    """Whether the reactions to a message were counted again."""
    return REACTED if before and after.get(REACTIONS_AT, "") > before.get(REACTIONS_AT, "") else ""
