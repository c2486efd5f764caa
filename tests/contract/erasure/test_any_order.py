"""P15: Whatever is stored, changed, erased, delivered again, lost and brought back, in any order: no text of an erased
user is left."""

from __future__ import annotations

import json
from base64 import b32encode
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headrace.core.envelope import Envelope
from headrace.core.keys import timestamp_sk
from headrace.core.sender import SenderContext, ValidatedEvent
from headrace.core.stream import Stream, TableSettings
from headrace.core.times import SECOND, iso
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import ErasureScreen, RowWriter
from headrace.features.attachments.files import file_name, folder_of, names_of
from headrace.features.attachments.storing import keep
from headrace.features.people.erasures import Task
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import ENCODING, from_text
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.streams.chat.messages.check import MessageCheck
from headrace.streams.chat.messages.dynamodb import MessageStore
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.chat.stream import MESSAGE
from ops.copy_rows import put_if_absent
from ops.erased import Erased
from tests.contract.erasure_world import ANN, TABLES, World
from tests.contract.tables import made
from tests.fakes.files import PNG
from tests.fakes.live import live_hook
from tests.fakes.queues import MemoryDeadLane
from tests.worlds.message_changes import CHANGES, MessageChanges
from tests.worlds.senders import CHAT
from tests.worlds.write_path import rabbit_event, received_event

SETTINGS = {"chat": TableSettings(table="EMessages")}
ROUNDS = 60
"""Deliveries from the retry lane until it must be empty."""


class Stage(World):
    """A world whose events take both lanes, delivered one by one and again. All of them are of one ``room``."""

    def __init__(self, dynamodb: Any, room: str = "kitchen~4") -> None:
        super().__init__(dynamodb)
        store = MessageStore(DynamoStore(writing_client(2), 2))
        self.clear()  # of an example that failed
        self.room = room
        rooms = CachedRooms(self.rooms)
        messages = MessageCheck(rooms, self.memberships, self.clock, self.log, by_first_message=True)
        live = live_hook(self.cache, self.clock)
        changes = MessageChanges(self.changes, rooms, self.memberships, lambda: self.attachments, self.clock, live)
        screen = ErasureScreen(self.find, self.clock, 60)
        before = ((MESSAGE, messages.before_store), *changes.before)
        after = ((MESSAGE, live.after_store), *changes.after, (MESSAGE, partial(keep, self.attachments)))
        writer = RowWriter(store, SETTINGS, after, before, screen, ((MESSAGE, changes.known),))
        self.persister = Persister(writer, self.retry_lane, self.clock)
        self.sent: list[tuple[str, int, str, bytes]] = []
        """The user, the time of acceptance and the text of each event, and its record."""
        self.keys: list[tuple[str, str]] = []
        self.erased_at = ""
        self.backup: list[dict[str, Any]] = []
        self.dead_lane = MemoryDeadLane(self.dead)

    def accept(self, stream: Stream, by: str, event: dict[str, Any], text: str) -> None:
        self.clock.advance(0.001)
        now = self.clock.now()
        validated = stream.accept(event, SenderContext(by, by, False, now))
        if not self.may_send(stream, by, validated):
            return
        accepted = validated.event
        if stream is CHAT:
            key = timestamp_sk(accepted["timestamp"], accepted["messageId"], accepted["sender"])
            self.keys.append((by, key))
        self.sent.append((by, now, text, Envelope("chat", "r-1", iso(now), [accepted]).encode()))

    def may_send(self, _stream: Stream, _by: str, _event: ValidatedEvent) -> bool:
        """Whether an event is accepted."""
        return True

    def say(self, by: str, ahead: float = 0) -> None:
        text, at = f"<{by} {len(self.sent)}>", iso(self.clock.now() + round(ahead * SECOND))
        self.accept(CHAT, by, {"roomId": self.room, "message": text, "timestamp": at}, text)

    def share(self, by: str) -> None:
        """Upload a file, and accept a message that names it."""
        text, before = f"<{by} {len(self.sent)}>", len(self.sent)
        upload_id = b32encode(len(self.sent).to_bytes(16)).decode().lower().rstrip("=")
        now = datetime.fromisoformat(iso(self.clock.now() + 1000))
        self.uploads.put(file_name(by, self.room, upload_id), at=now)
        named = {"id": upload_id, "name": text, "type": "image/png", "bytes": len(PNG)}
        self.accept(CHAT, by, {"roomId": self.room, "message": text, "attachments": [named]}, text)
        for *_, record in self.sent[before:]:
            assert self.attachments.accept(json.loads(record)["events"], self.clock.now()) == [None]

    def change(self, by: str, which: int, kind: str) -> None:
        """Edit or delete a message of one's own, or react to any."""
        known = [key for author, key in self.keys if kind == "react" or author == by]
        if known:
            text = f"<{by} {len(self.sent)}>"
            more = {"edit": {"message": text}, "react": {"value": text}, "delete": {}}[kind]
            at = {"roomId": self.room, "key": known[which % len(known)], "change": kind}
            self.accept(CHANGES, by, at | more, text)

    def deliver(self, which: int) -> None:
        """Deliver an event, maybe not for the first time."""
        if self.sent:
            self.persister.main_lane(rabbit_event([self.sent[which % len(self.sent)][3]]), lambda: 60.0)

    def retry(self) -> None:
        """Deliver what the retry lane has now."""
        for received in self.retry_lane.receive():
            failed = self.persister.retry_lane(received_event([received]))["batchItemFailures"]
            if not failed:
                self.retry_lane.delete([received.receipt])

    def redrive(self) -> None:
        """Give dead letters back to the retry lane."""
        letters = self.dead_lane.receive(0)
        for letter in letters:
            attributes = {name: value for name, value in letter.attributes.items() if name != ENCODING}
            record = RetryRecord(from_text(letter.body, letter.attributes.get(ENCODING)), attributes)
            assert self.retry_lane.send([record]) == [None]
        self.dead_lane.delete(letters)

    def back_up(self) -> None:
        """Keep the rows that there are: as a backup does, and as an archive has them."""
        pages = self.sdk.get_paginator("scan").paginate(TableName="EMessages")
        self.backup += [row for page in pages for row in page["Items"]]

    def lose(self) -> None:
        """Lose all messages and changes."""
        keys = [{name: row[name] for name in ("roomId", "timestampSk")} for row in self.rows("EMessages")]
        self.table("EMessages").delete_many(keys)

    def bring_back(self) -> None:
        """Bring back what was kept, the newest state of each row first: as copying rows does, and a replay."""
        for row in Erased(self.erasures, self.hashes).without(self.backup[::-1]):
            put_if_absent(self.sdk, "EMessages", row, "roomId")

    def request_erasure(self) -> None:
        if not self.tasks.sent:
            self.erased_at = iso(self.clock.now())
            self.tasks.send(Task(ANN, None, self.erased_at))
            self.erasures.begin(self.hashes.key(self.person), self.erased_at)

    def run_slice(self) -> None:
        if self.tasks.sent:
            task, delay = self.tasks.sent.pop(0)
            self.clock.advance(delay)
            self.eraser.run(task, lambda: 100.0)

    def play(self, steps: list[tuple[Any, ...]]) -> None:
        """Take these steps, and let everything end."""
        for name, *arguments in steps:
            (self.clock.advance if name == "wait" else getattr(self, name))(*arguments)
        self.settle()

    def settle(self) -> None:
        """Let every lane and the erasure come to their ends, and deliver everything once more."""
        while self.tasks.sent:
            self.run_slice()
        self.clock.advance(100)
        self.bring_back()
        self.redrive()
        for which in range(len(self.sent)):
            self.deliver(which)
        for _ in range(ROUNDS):
            if not self.retry_lane.queue.messages:
                return
            self.clock.advance(30)
            self.retry()
        raise AssertionError(self.retry_lane.records)


KNOWN = [("say", ANN), ("deliver", 0), ("say", "bob"), ("deliver", 1)]
"""A message of each user, which is stored."""
STEPS = st.one_of(
    st.tuples(st.sampled_from(["say", "share"]), st.sampled_from([ANN, "bob"])),
    st.tuples(
        st.just("change"),
        st.sampled_from([ANN, "bob"]),
        st.integers(0, 9),
        st.sampled_from(["edit", "delete", "react"]),
    ),
    st.tuples(st.just("deliver"), st.integers(0, 19)),
    st.tuples(st.just("wait"), st.sampled_from([1, 15, 61, 200])),
    st.tuples(st.sampled_from(["retry", "redrive", "back_up", "lose", "bring_back", "request_erasure", "run_slice"])),
)


@pytest.fixture
def dynamodb(dynalite: str) -> Iterator[Any]:
    with made(*TABLES) as found:
        yield found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@example(steps=[("say", ANN), ("request_erasure",), ("run_slice",), ("deliver", 0), ("run_slice",)])
@example(steps=[("share", ANN), ("deliver", 0), ("change", ANN, 0, "delete"), ("deliver", 1), ("deliver", 0)])
@example(steps=[("share", ANN), ("share", "bob"), ("deliver", 0), ("request_erasure",), ("deliver", 1), ("deliver", 0)])
@example(steps=[*KNOWN, ("change", ANN, 1, "react"), ("deliver", 2), ("request_erasure",), ("run_slice",)])
@example(steps=[*KNOWN, ("back_up",), ("request_erasure",), ("run_slice",), ("lose",), ("bring_back",), ("run_slice",)])
@example(steps=[*KNOWN, ("change", ANN, 0, "edit"), ("deliver", 2), ("back_up",), ("lose",), ("request_erasure",)])
@example(steps=[*KNOWN, ("change", ANN, 0, "edit"), ("request_erasure",), ("run_slice",), ("deliver", 2)])
@given(steps=st.lists(STEPS, min_size=5, max_size=40))
def test_no_order_brings_a_text_of_an_erased_user_back(dynamodb: Any, steps: list[tuple[Any, ...]]) -> None:
    stage = Stage(dynamodb)
    stage.play(steps)

    for by, accepted_at, text, _ in stage.sent:
        if by == ANN and iso(accepted_at) <= stage.erased_at:
            assert stage.holding(text) == []
    if stage.erased_at and all(by != ANN or iso(at) <= stage.erased_at for by, at, *_ in stage.sent):
        assert stage.holding(ANN) == []
    rows = [row for row in stage.rows("EMessages") if row["roomId"] == "kitchen~4"]
    assert {key for by, key in stage.keys if by == "bob"} <= {row["timestampSk"] for row in rows}
    files, named = stage.uploads.objects.keys(), {name for row in rows for name in names_of(row)}
    # What stays is what messages name. Other files wait for their messages, and the bucket deletes them.
    assert {name for name in files if stage.uploads.states.get(name) == "stored"} <= named
    if stage.erased_at:
        # A message that was accepted later and stored meanwhile was erased too. Delivered again, it is stored again.
        later = [text for by, at, text, _ in stage.sent if by == ANN and iso(at) > stage.erased_at]
        assert sum(name.startswith(folder_of(ANN)) for name in files) <= len(later)
        named = {name for name in named if not name.startswith(folder_of(ANN))}
    assert named <= files
