"""Senders whose clocks are up to five minutes off write to a members room, which they join, leave and join again.

Every accepted message is stored once, however often it is sent and delivered. All who were in the room at its time can
read it. Its sender is one of them, unless they left before that time.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.core.envelope import decode
from headrace.core.items import Item
from headrace.core.times import MINUTE, SECOND, iso, micros_of
from headrace.runtime.observability import Meter
from tests.model.running import ASKED, settings_of
from tests.worlds.chat_world import ChatWorld
from tests.worlds.room_world import GROUP, caller
from tests.worlds.senders import CHAT, TABLE
from tests.worlds.write_path import MESSAGES

EXAMPLES = 200
TOLERANCE = 5 * MINUTE
USERS = ("alice", "bob", "carol")
Action = tuple[Any, ...]

users, numbers = st.sampled_from(USERS), st.integers(0, 30)
skews = st.sampled_from([-300.0, -2.0, -0.001, 0.0, 2.0, 300.0])
"""Seconds by which a sender's clock is off."""
actions = st.one_of(
    st.tuples(st.just("say"), users, skews),
    st.tuples(st.just("repeat"), numbers),
    st.tuples(st.just("deliver")),
    st.tuples(st.just("deliver_again"), numbers),
    st.tuples(st.just("join"), users),
    st.tuples(st.just("leave"), users),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 200.0, 400.0])),
    st.tuples(st.just("tables"), st.booleans()),
)


class Stage(ChatWorld):
    """A stage with a members room, and what its users sent and did in it."""

    def __init__(self) -> None:
        super().__init__()
        self.moves: dict[str, list[tuple[str, bool]]] = {user: [] for user in USERS}
        """The joins (``True``) and leaves of each user, with their times."""
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.accepted: set[str] = set()
        self.taken: list[dict[str, Any]] = []
        """The events that were delivered once."""
        self.stored: dict[str, Item] = {}
        self.ok("alice", "PUT", "kitchen", GROUP)
        self.moves["alice"].append((iso(self.clock.now()), True))

    def act(self, name: str, *parts: Any) -> None:
        self.clock.advance(0.0001)
        getattr(self, name)(*parts)

    def is_in(self, user: str, at: str) -> bool:
        return ([False] + [joins for when, joins in self.moves[user] if when <= at])[-1]

    def join(self, user: str) -> None:
        if not self.memberships.down and not self.is_in(user, iso(self.clock.now())):
            self.ok(user, "PUT", "kitchen/members/alice") if user == "alice" else self.bring("alice", "kitchen", user)
            self.moves[user].append((iso(self.clock.now()), True))

    def leave(self, user: str) -> None:
        if not self.memberships.down and self.is_in(user, iso(self.clock.now())):
            self.ok(user, "DELETE", f"kitchen/members/{user}")
            self.moves[user].append((iso(self.clock.now()), False))

    def say(self, user: str, skew: float) -> None:
        timestamp = iso(self.clock.now() + round(skew * SECOND))
        raw = {"roomId": "kitchen", "messageId": f"m{len(self.sent)}", "timestamp": timestamp, "message": "hello"}
        self.sent.append((user, raw))
        self.repeat(len(self.sent) - 1)

    def repeat(self, number: int) -> None:
        """Send an earlier message as it was."""
        if not self.sent:
            return
        user, raw = self.sent[number % len(self.sent)]
        (result,) = self.sending.accept(CHAT, caller(user), [raw], "c", Meter())
        if self.memberships.down:
            return
        assert (result.error is None) == self.may_say(user, raw["timestamp"]), f"{raw} resulted in {result}"
        if result.error is None:
            self.accepted.add(raw["messageId"])
            assert self.is_in(user, result.receipt["timestamp"]), f"in no user's history: {raw}"
            known = self.stored.get(raw["messageId"])
            assert known is None or known["timestamp"] == result.receipt["timestamp"], "stored twice"

    def may_say(self, user: str, timestamp: str) -> bool:
        """The rule: in the room now, and at the time; or a clock behind, and certainly not sent before a leave."""
        at = micros_of(timestamp)
        if not self.is_in(user, iso(self.clock.now())) or self.is_in(user, timestamp):
            return self.is_in(user, iso(self.clock.now()))
        after = [at - micros_of(when) for when, joins in self.moves[user] if not joins and when <= timestamp]
        before = [micros_of(when) - at for when, joins in self.moves[user] if joins and when > timestamp]
        return min(before) <= TOLERANCE and all(each >= TOLERANCE for each in after)

    def deliver(self) -> None:
        for body in self.write_path.broker.take():
            self.taken += [event for event in decode(body).events if event["messageType"] == "TEXT"]
            self.deliver_again(len(self.taken) - 1)

    def deliver_again(self, number: int) -> None:
        """Store an event again, as a redelivery or a redrive does."""
        if not self.taken or self.memberships.down:
            return
        row = CHAT.item(self.taken[number % len(self.taken)], 0, TABLE)
        (refusal,) = self.check.before_store([row])
        if refusal is None:
            self.write_path.store.put_many(MESSAGES, [row])
            content = {name: value for name, value in row.items() if name != "storedAt"}
            assert self.stored.setdefault(row["messageId"], content) == content, "stored twice"

    def tables(self, down: bool) -> None:
        self.rooms.down = self.memberships.down = down
        self.wait(10)

    def check_all(self) -> None:
        """Deliver everything again, and compare what each user reads with what was accepted."""
        self.tables(down=False)
        self.deliver()
        for number in range(len(self.taken)):
            self.deliver_again(number)
        assert self.accepted <= self.stored.keys(), "accepted, and not stored"
        rows = sorted(self.stored.values(), key=lambda row: str(row["timestampSk"]), reverse=True)
        for user in USERS:
            found = self.read_room(user, "kitchen")
            pages = [item["key"] for item in found] if isinstance(found, list) else []
            assert pages == [row["timestampSk"] for row in rows if self.is_in(user, row["timestamp"])]
        for row in rows:
            left = any(not joins and when <= row["timestamp"] for when, joins in self.moves[row["userId"]])
            assert left or self.is_in(row["userId"], row["timestamp"]), f"in no user's history: {row}"


def check(steps: list[Action]) -> None:
    stage = Stage()
    for step in steps:
        stage.act(*step)
    stage.check_all()


FIRST_WORDS = [("say", "alice", -2.0)]
UNCHECKED = [("tables", True), ("say", "alice", -300.0), ("deliver",), ("tables", False), ("deliver_again", 0)]
AFTER_A_LEAVE = [
    ("say", "alice", 300.0),
    ("leave", "alice"),
    ("wait", 400.0),
    ("join", "alice"),
    ("repeat", 0),
]


@pytest.mark.timeout(0 if ASKED else 120)
@settings_of(ASKED or EXAMPLES, derandomize=not ASKED)
@given(st.lists(actions, min_size=5, max_size=30))
@example(FIRST_WORDS)
@example(UNCHECKED)
@example(AFTER_A_LEAVE)
def test_an_accepted_message_is_stored_once_and_its_sender_can_read_it(steps: list[Action]) -> None:
    """P1, P3, P12."""
    check(steps)
