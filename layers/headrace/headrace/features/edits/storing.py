"""Builds what happens when edits and deletions are stored, and when their messages are."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headrace.core.items import Item
from headrace.core.stream import Hook, Kind
from headrace.features.edits.change import KIND
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.features.edits.gate import ChangeRights
from headrace.features.edits.hooks import ChangeCheck, ChangeHook, Texts
from headrace.services.live import live_hook
from headrace.services.messages import message_table, messages_table_name
from headrace.services.rooms import memberships, rooms
from headrace.services.shared import clock, dynamodb
from headrace.stage import registry
from headrace.streams.chat.message_row import may_have_more, place_of


@functools.cache
def changes() -> DynamoChanges:
    """The rows of edits and deletions."""
    return DynamoChanges(dynamodb(), messages_table_name(), "messages")


def checked(kind: Kind, rights: type[ChangeRights]) -> list[tuple[str, Hook]]:
    """Check changes of a kind before they are stored."""
    check = ChangeCheck(rights(message_table(), rooms(), memberships()), rooms(), clock(), kind.place_of)
    return [(kind.name, check.before_store)]


def applied(kind: Kind, apply: Callable[..., None], *wait: Callable[[str, str], None]) -> list[tuple[str, Hook]]:
    """Apply changes of a kind that are stored; ``apply`` and ``wait`` are those of :class:`.ChangeHook`."""
    hook = ChangeHook(message_table(), apply, live_hook(), rooms(), clock(), kind.place_of, *wait)
    return [(kind.name, hook.after_store)]


def before() -> list[tuple[str, Hook]]:
    return checked(KIND, ChangeRights)


def after() -> list[tuple[str, Hook]]:
    return applied(KIND, Texts(changes(), registry.remove_first, registry.remove, clock()).apply)


def complete(message: Item) -> None:
    Texts(changes(), registry.remove_first, registry.remove, clock()).complete(message)


def remove(message: Item) -> None:
    if may_have_more(message):
        changes().forget_edits(*place_of(message))
