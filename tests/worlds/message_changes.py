"""Edits and reactions of a world, as the stage builds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.api.params import read
from headrace.core.items import Item
from headrace.core.sender import Incoming, SenderContext, ValidatedEvent
from headrace.core.stream import TableSettings
from headrace.core.times import Clock
from headrace.features.attachments.files import names_of
from headrace.features.attachments.store import Attachments
from headrace.features.edits import change
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.features.edits.gate import ChangeGate, ChangeRights
from headrace.features.edits.hooks import ChangeCheck, ChangeHook, Texts
from headrace.features.edits.routes import EDITS, DeletionFrame, EditFrame
from headrace.features.reactions import reaction
from headrace.features.reactions.accepting import ReactionRights
from headrace.features.reactions.counts import ReactionCounts
from headrace.features.reactions.dynamodb import DynamoReactions
from headrace.features.reactions.routes import REACTIONS, ReactionFrame
from headrace.streams.chat.message_row import CHANGE, may_have_more, place_of
from headrace.streams.chat.messages.hooks import LiveHook
from headrace.streams.chat.messages.known import KnownMessages, Remove
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.rooms import CachedRooms

EDIT, REACTION = change.KIND.name, reaction.KIND.name


def accept(raw: Any, sender: SenderContext) -> ValidatedEvent:
    """A client's edit, deletion or reaction, which is validated as frames are."""
    how = raw[CHANGE]
    is_reaction = how == reaction.REACT and reaction.VALUE in raw
    frame = EditFrame if how == change.EDIT else ReactionFrame if is_reaction else DeletionFrame
    body = read(frame, {name: value for name, value in raw.items() if name != CHANGE})
    assert body is not None
    sent = {**body.model_dump(by_alias=True, exclude_none=True), CHANGE: how}
    return (REACTIONS if how == reaction.REACT else EDITS).accept(sent, sender)


KINDS = {**change.KINDS, **reaction.KINDS}


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of an edit, a deletion or a reaction."""
    return KINDS[event[CHANGE]].item(event, accepted_at, table)


CHANGES = replace(EDITS, sent=lambda: Incoming(accept), item=item, kinds=KINDS)
"""How clients send edits, deletions and reactions."""


class MessageChanges:
    """The gates and hooks of edits and reactions. ``store`` is the table of messages."""

    def __init__(
        self,
        store: Any,
        rooms: CachedRooms,
        memberships: Memberships,
        attachments: Callable[[], Attachments],
        clock: Clock,
        live: LiveHook | None = None,
    ) -> None:
        edits, reactions = ChangeRights(store, rooms, memberships), ReactionRights(store, rooms, memberships)
        self.gates = {EDIT: ChangeGate(edits), REACTION: ChangeGate(reactions)}
        self.before = (
            (EDIT, ChangeCheck(edits, rooms, clock, change.message_of).before_store),
            (REACTION, ChangeCheck(reactions, rooms, clock, reaction.message_of).before_store),
        )
        counts = ReactionCounts(store, clock)
        texts = Texts(store, files_remover(attachments), remover(store, attachments, counts), clock)
        self.known = KnownMessages(store, lambda: [texts.complete, counts.complete]).known
        if live is not None:
            count = (counts.apply, live, rooms, clock, reaction.message_of, counts.forget_replaced)
            edit = (texts.apply, live, rooms, clock, change.message_of)
            self.after = (
                (EDIT, ChangeHook(store, *edit).after_store),
                (REACTION, ChangeHook(store, *count).after_store),
            )


def files_remover(attachments: Callable[[], Attachments]) -> Remove:
    """Deletes the files of a message."""

    def remove(message: Item) -> None:
        if "attachments" in message:
            attachments().delete_files(names_of(message))

    return remove


def remover(store: Any, attachments: Callable[[], Attachments], counts: ReactionCounts) -> Remove:
    """Deletes what is kept beside a message in ``store``."""

    def remove(message: Item) -> None:
        files_remover(attachments)(message)
        if may_have_more(message):
            store.forget_edits(*place_of(message))
        counts.remove(message)

    return remove


class DynamoMessageChanges(DynamoChanges, DynamoReactions):
    """Both kinds of changes in one table."""
