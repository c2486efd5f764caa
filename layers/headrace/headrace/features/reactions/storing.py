"""Builds what happens when reactions are stored, and when their messages are."""

from __future__ import annotations

import functools

from headrace.core.items import Item
from headrace.core.stream import Hook
from headrace.features.edits.storing import applied, checked
from headrace.features.reactions.accepting import ReactionRights
from headrace.features.reactions.counts import ReactionCounts
from headrace.features.reactions.dynamodb import DynamoReactions
from headrace.features.reactions.reaction import KIND
from headrace.services.messages import messages_table_name
from headrace.services.shared import clock, dynamodb


@functools.cache
def counts() -> ReactionCounts:
    return ReactionCounts(DynamoReactions(dynamodb(), messages_table_name(), "messages"), clock())


def before() -> list[tuple[str, Hook]]:
    return checked(KIND, ReactionRights)


def after() -> list[tuple[str, Hook]]:
    return applied(KIND, counts().apply, counts().forget_replaced)


def complete(message: Item) -> None:
    counts().complete(message)


def remove(message: Item) -> None:
    counts().remove(message)
