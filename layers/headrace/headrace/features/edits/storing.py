"""Builds what happens when edits and deletions are stored, and when their messages are."""

from __future__ import annotations

import functools

from headrace.core.items import Item
from headrace.core.stream import Hook
from headrace.features.edits.change import KIND
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.features.edits.gate import ChangeRights
from headrace.features.edits.hooks import ChangeCheck, ChangeHook, Texts
from headrace.services.live import live_hook
from headrace.services.messages import message_table, messages_table_name
from headrace.services.rooms import memberships, rooms
from headrace.services.shared import clock, dynamodb, remove_files
from headrace.streams.chat.message_row import may_have_more, place_of
from headrace.streams.chat.messages.known import Remove


@functools.cache
def changes() -> DynamoChanges:
    """The rows of edits and deletions."""
    return DynamoChanges(dynamodb(), messages_table_name(), "messages")


def before() -> list[tuple[str, Hook]]:
    rights = ChangeRights(message_table(), rooms(), memberships())
    return [(KIND.name, ChangeCheck(rights, rooms(), clock()).before_store)]


def after(remove_all: Remove) -> list[tuple[str, Hook]]:
    apply = Texts(changes(), remove_files, remove_all, clock()).apply
    return [(KIND.name, ChangeHook(changes(), apply, live_hook(), rooms(), clock()).after_store)]


def complete(remove_all: Remove, message: Item) -> None:
    Texts(changes(), remove_files, remove_all, clock()).complete(message)


def remove(message: Item) -> None:
    if may_have_more(message):
        changes().forget_edits(*place_of(message))
