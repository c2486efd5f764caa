"""Messages and their changes are stored in any order, again and again, at once, and with crashes: one result.

Every accepted change counts as its time says, also a reaction. The text of a deleted message is nowhere, and neither
are the reactions to it. Some messages are replies, and some are of clocks that are ahead. On the way, no reader sees an
earlier version of a message than it has seen before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.core.sender import ValidatedEvent
from headrace.core.times import SECOND
from tests.model.readers import Readers, version
from tests.model.running import settings_of
from tests.worlds.change_world import ChangeWorld
from tests.worlds.senders import TABLE

EXAMPLES = 400
USERS = ("alice", "bob", "carol")
WRITE_SECONDS = 9
"""A write takes effect at most so long after its check."""

TEXTS = ("say", "edit", "edit", "delete", "react", "react", "react", "take_back")
VALUES = ("up", "down", "\u2764\ufe0f")
STEPS = ("deliver", "deliver", "begin", "repeat", "repeat", "go_on", "go_on", "go_on", "crash", "wait", "table")


def action(of: Random) -> tuple[Any, ...]:
    """One step of a random run. Lists that Hypothesis draws are too short to bring what fails."""
    name = of.choice(TEXTS + STEPS)
    match name:
        case "say":
            return name, of.choice(USERS[:2]), of.choice([0.0, 5.0, 60.0, -60.0, -285.0]), of.random() < 0.3
        case "edit" | "delete" | "take_back":
            return name, of.choice(USERS), of.randint(0, 4)
        case "react":
            return name, of.choice(USERS), of.randint(0, 4), of.choice(VALUES)
        case "deliver" | "begin":
            return name, of.randint(1, 3)
        case "wait":
            return name, of.choice([0.5, 3.0, 12.0, 30.0])
        case "table":
            return name, of.random() < 0.3
    return name, of.randint(0, 4)


class Stage(ChangeWorld):
    """A stage whose functions stop between any two steps; ``waiting`` are the events in the lanes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock.advance(120)  # everybody may read the oldest message
        self.messages: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.waiting: list[dict[str, Any]] = []
        self.running: list[tuple[int, list[dict[str, Any]], Iterator[Any]]] = []
        self.readers, self.heard = Readers(self), 0
        self.copies.subscribe("kitchen")

    def say(self, user: str, age: float, is_reply: bool) -> None:
        number = len(self.messages)
        more = {"replyTo": self.key(self.messages[0])} if is_reply and self.messages else {}
        message = self.message(user, f"secret {number}", number=number, age=age, **more)
        self.messages.append(message)
        self.accept(message)

    def accept(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        self.waiting.append(event)

    def edit(self, user: str, number: int) -> None:
        self.send(user, number, f"edit {len(self.events)}")

    def delete(self, user: str, number: int) -> None:
        self.send(user, number, None)

    def send(self, user: str, number: int, text: str | None) -> None:
        if self.messages:
            index = number % len(self.messages)
            self.offer(user, self.change(user, self.messages[index], text and f"{text} of {index}"))

    def react(self, user: str, number: int, value: str | None) -> None:
        if self.messages:
            self.offer(user, self.reaction(user, self.messages[number % len(self.messages)], value))

    def take_back(self, user: str, number: int) -> None:
        self.react(user, number, None)

    def offer(self, user: str, change: ValidatedEvent) -> None:
        if self.admit(user, change) is None:
            self.accept(change.event)

    def begin(self, count: int) -> None:
        """A function takes the oldest events from a lane."""
        events = [self.waiting.pop(0) for _ in range(count) if self.waiting]
        if events:
            self.running.append((self.clock.now(), events, self.followed(events)))

    def followed(self, events: Sequence[dict[str, Any]]) -> Iterator[Any]:
        """Store events. What is published shows no earlier version than the table had when the function began."""
        rows = self.write_path.store.tables[TABLE.table]
        before = {row["timestampSk"]: version(row) for row in rows.values() if row["roomId"] == "kitchen"}
        for outcomes in self.storing(events):
            for copy in self.copies.copies()[self.heard :]:
                for item in copy.items.values():
                    assert version(item) >= before.get(item["key"], (0, ""))
            self.heard = len(self.copies.publisher.sent)
            yield outcomes

    def repeat(self, number: int) -> None:
        """A client sends an event again, or a broker delivers it again."""
        if self.events:
            self.waiting.append(self.events[number % len(self.events)])

    def deliver(self, count: int) -> None:
        """A function takes events from a lane, and stores them at once."""
        self.begin(count)
        for _ in range(5):
            self.go_on(-1)

    def go_on(self, number: int) -> None:
        if self.running:
            began, events, steps = self.running.pop(number % len(self.running))
            outcomes = next(steps, None)
            if outcomes:
                self.waiting += [event for event, outcome in zip(events, outcomes, strict=True) if outcome is not None]
            elif outcomes is not None:
                self.running.append((began, events, steps))

    def crash(self, number: int) -> None:
        """A function ends; its events are delivered again."""
        if self.running:
            self.waiting += self.running.pop(number % len(self.running))[1]

    def wait(self, seconds: float) -> None:
        """Let time pass; a function that would write too late has ended."""
        ended = self.clock.now() + (seconds - WRITE_SECONDS) * SECOND
        for each in [each for each in self.running if each[0] < ended]:
            self.running.remove(each)
            self.waiting += each[1]
        self.clock.advance(seconds)

    def table(self, is_down: bool) -> None:
        self.store.down = is_down

    def drain(self) -> None:
        """The tables are back, and every lane is emptied."""
        self.table(False)
        for _, events, _ in self.running:
            self.waiting += events
        for _ in range(3):
            self.clock.advance(30)
            waiting, self.waiting = self.waiting, []
            for event in waiting:
                if self.put(event)[0] is not None:
                    self.waiting.append(event)
                self.readers.hear()
            self.readers.look()
        assert not [event for event in self.waiting if "uncheckedAt" not in event]


@settings_of(EXAMPLES)
@given(st.integers(0, 2**32))
def test_any_order_of_messages_and_changes_gives_one_result(seed: int) -> None:
    """P3."""
    of = Random(seed)
    steps = [action(of) for _ in range(of.randint(10, 40))]
    stage = Stage()
    for name, *parts in steps:
        stage.clock.advance(0.0001)
        getattr(stage, name)(*parts)
        stage.readers.hear()
        if not stage.store.down:
            stage.readers.look()
    stage.drain()

    for message in stage.messages:
        changes = [event for event in stage.events if event.get("key") == stage.key(message)]
        last: dict[str, str | None] = {}
        for each in sorted(changes, key=lambda each: str(each["timestamp"])):
            if each["change"] == "react" and each not in stage.waiting:  # those that may not be stored wait for ever
                last[each["changedBy"]] = each.get("value")
        # Bob and Carol may name a message that is not stored yet. It shows when it is stored that it is not theirs.
        counted = [
            each
            for each in changes
            if each["changedBy"] == message["userId"] or (each["change"] == "delete" and each["changedBy"] == "alice")
        ]
        deletions = sorted(each["timestamp"] for each in counted if each["change"] == "delete")
        edits = sorted((each["timestamp"], each["message"]) for each in counted if each["change"] == "edit")
        row = stage.row(message)
        reactors = {each["changedBy"] for each in stage.store.reactions_to("kitchen", stage.key(message))}
        assert row.get("replyTo") == message.get("replyTo")
        if deletions:
            assert (row["message"], row["deletedAt"]) == ("", deletions[-1])
            number = stage.messages.index(message)
            assert not [text for text in stage.texts() if text == f"secret {number}" or text.endswith(f" of {number}")]
            assert "reactions" not in row
            assert reactors == set()
        else:
            counts = Counter(value for value in last.values() if value)
            assert row.get("reactions", {}) == counts
            assert {
                each["changedBy"] for each in stage.store.reactions_to("kitchen", stage.key(message))
            } == last.keys()
            assert "deletedAt" not in row
            assert row["message"] == (edits[-1][1] if edits else message["message"])
            assert row.get("editedAt") == (edits[-1][0] if edits else None)
