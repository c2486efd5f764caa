"""Builds what happens when reactions are stored, and when their messages are."""

from __future__ import annotations

import functools

from headrace.core.items import Item
from headrace.core.stream import Hook
from headrace.features.edits.hooks import ChangeCheck, ChangeHook
from headrace.features.reactions.counts import ReactionCounts
from headrace.features.reactions.dynamodb import DynamoReactions
from headrace.features.reactions.gate import ReactionRights
from headrace.features.reactions.reaction import KIND, message_of
from headrace.services.live import live_hook
from headrace.services.messages import message_table, messages_table_name
from headrace.services.rooms import memberships, rooms
from headrace.services.shared import clock, dynamodb
from headrace.streams.chat.messages.known import Remove


@functools.cache
def counts() -> ReactionCounts:
    return ReactionCounts(DynamoReactions(dynamodb(), messages_table_name(), "messages"), clock())


def before() -> list[tuple[str, Hook]]:
    rights = ReactionRights(message_table(), rooms(), memberships())
    return [(KIND.name, ChangeCheck(rights, rooms(), clock(), message_of).before_store)]


def after(_remove_all: Remove) -> list[tuple[str, Hook]]:
    parts = (message_table(), counts().apply, live_hook(), rooms(), clock(), message_of, counts().forget_replaced)
    return [(KIND.name, ChangeHook(*parts).after_store)]


def complete(_remove_all: Remove, message: Item) -> None:
    counts().complete(message)


def remove(message: Item) -> None:
    counts().remove(message)
