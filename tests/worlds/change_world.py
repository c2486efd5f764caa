"""Messages and their changes on one stage in memory, with the hooks that store them, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from headrace.core.errors import UserError
from headrace.core.items import Item
from headrace.core.sender import SenderContext, ValidatedEvent
from headrace.core.stream import Reason
from headrace.core.times import SECOND, iso
from headrace.streams.chat.stream import MESSAGE
from tests.fakes.changes import MemoryChanges
from tests.fakes.files import memory_attachments
from tests.worlds.live_world import Live
from tests.worlds.message_changes import MessageChanges, accept
from tests.worlds.room_world import TRUSTED, caller
from tests.worlds.senders import CHAT, TABLE, sender
from tests.worlds.whole_room_world import WholeRoomWorld
from tests.worlds.write_path import MESSAGES, chat_batch


class ChangeWorld(WholeRoomWorld):
    """The rooms of ``add_rooms``, and changes of messages in them."""

    def __init__(self) -> None:
        super().__init__()
        self.add_rooms()
        self.store = MemoryChanges(self.write_path.store.tables[TABLE.table])
        self.attachments = lambda: memory_attachments(self.files)
        self.copies = Live()
        self.copies.clock = self.clock
        parts = (self.store, self.rooms, self.memberships, self.attachments, self.clock, self.copies.hook)
        self.changes = MessageChanges(*parts)

    def message(
        self, user: str, text: str, room: str = "kitchen", number: int = 1, age: float = 0, **more: Any
    ) -> dict[str, Any]:
        """An event with a message, as it was accepted ``age`` seconds ago; below zero, its clock is ahead."""
        raw = {"roomId": room, "messageId": f"m-{number}", "message": text, **more}
        raw["timestamp"] = iso(self.clock.now() - round(age * SECOND))
        return CHAT.accept(raw, replace(sender(user, trusted=age > 0), now=self.clock.now())).event

    def key(self, message: dict[str, Any]) -> str:
        key: str = CHAT.item(message, 0, TABLE)["timestampSk"]
        return key

    def change(self, user: str, message: dict[str, Any], text: str | None = None, **more: Any) -> ValidatedEvent:
        """An event that edits or deletes ``message``; it is not checked."""
        raw = {"roomId": message["roomId"], "key": self.key(message), "change": "edit" if text else "delete"}
        raw |= {"timestamp": iso(self.clock.now()), **({"message": text} if text else {}), **more}
        return accept(raw, self._sender(user))

    def reaction(self, user: str, message: dict[str, Any], value: str | None = None, **more: Any) -> ValidatedEvent:
        """An event that reacts to ``message``, or takes the reaction back; it is not checked."""
        raw = {"roomId": message["roomId"], "key": self.key(message), "change": "react"}
        raw |= {"timestamp": iso(self.clock.now()), **({"value": value} if value else {}), **more}
        return accept(raw, self._sender(user))

    def _sender(self, user: str) -> SenderContext:
        return replace(sender(user, trusted=True), now=self.clock.now())

    def admit(self, user: str, change: ValidatedEvent, *, is_trusted: bool = False) -> UserError | None:
        """Why the gate refuses a change, or ``None``."""
        who = caller(user, *([TRUSTED] if is_trusted else []))
        gate = self.changes.gates[CHAT.kind_name(change.event)]
        return gate.admit(who, [change], self.clock.now())[0]

    def storing(self, events: Sequence[dict[str, Any]]) -> Iterator[Sequence[Reason | None]]:
        """Store events in four steps, between which others can run; the last value is the outcome of each."""
        batch = chat_batch(events, self.clock.now())
        batch.run([(MESSAGE, self.check.before_store), *self.changes.before])
        yield []
        exist = batch.put(self.write_path.store, MESSAGES)
        yield []
        batch.run([(MESSAGE, self.changes.known)], exist)
        yield []
        batch.run([(MESSAGE, self.copies.hook.after_store), *self.changes.after])
        yield batch.reasons

    def put(self, *events: dict[str, Any]) -> Sequence[Reason | None]:
        """Store events at once; the outcome of each."""
        return list(self.storing(events))[-1]

    def row(self, message: dict[str, Any]) -> Item:
        found = self.store.message(message["roomId"], self.key(message))
        assert found is not None
        return found

    def texts(self) -> list[str]:
        """All texts that are stored anywhere."""
        names = ("message", "firstText")
        return [row[name] for row in self.write_path.rows() for name in names if row.get(name)]
