"""P13 live: whatever is lost between storing and a client, the client delivers every message once, and notices in time.

The storing functions, the log, push_live, the frames of a connection and the room of the Python client are the real
ones. The table, the cache, the broker and the connections are in memory, and fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import rule

from headrace.core import keys, times
from headrace.core.errors import BrokerUnavailable, CacheUnavailable, ConnectionLost
from headrace.core.items import Item
from headrace.core.times import SECOND
from headrace.delivery import row_writer
from headrace.live.hints import SubscriberHints
from headrace.queues.ports import Outgoing
from headrace.streams.chat.messages.check import MessageCheck
from headrace.streams.chat.messages.hooks import LiveHook
from headrace.streams.chat.messages.known import KnownMessages
from headrace.streams.chat.messages.room_log import Appended, Batch, Since
from headrace.streams.chat.stream import MESSAGE
from headrace_client.room import Message, Room
from tests.fakes.changes import MemoryChanges
from tests.fakes.live import MemoryRoomLog
from tests.model.following import Following, now
from tests.model.running import ASKED, run
from tests.worlds.frame_stage import Stage
from tests.worlds.room_world import OPEN
from tests.worlds.write_path import MESSAGES, put_or_find

EXAMPLES = 150
MISTAKEN_EXAMPLES = 1000
LATE_FRAME = 1.0
CHECK_SECONDS = 540.0
EXPIRY_SECONDS = 5.0
"""A live copy that waits for longer expires."""
RETRY_SECONDS = 1215.0
"""A record is tried again for so long."""
KITCHEN = "kitchen"

ages = st.sampled_from([0.0, 0.0, 0.0, 9.9, 10.1, 600.0, -299.0])
environments = st.integers(0, 1)
pauses = st.sampled_from([0.1, 0.6, 5.0, 41.0, 130.0, 300.0, 560.0])


class Broker:
    """Live copies in the order of their publishing. It can be down, or lose what it took."""

    def __init__(self) -> None:
        self.queue: list[bytes] = []
        self.state = "up"

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        if self.state == "down":
            return ConnectionLost("down")
        if self.state == "up":
            self.queue += [each.body for each in messages]
        return None


class Environment:
    """An environment of persist_events. Its way to the cache may be cut."""

    def __init__(self, stage: Stage, broker: Broker) -> None:
        self._log = MemoryRoomLog(stage.cache)
        self.is_cut = self._failed = False
        world = stage.world
        self.check = MessageCheck(world.rooms, world.memberships, world.clock, self)
        hints = SubscriberHints(stage.cache, stage.connections, lambda: world.clock.now() / SECOND)
        changes = MemoryChanges(world.write_path.store.tables[MESSAGES.name])
        self.known = KnownMessages(changes, list)
        self.hook = LiveHook(self, hints, lambda: broker, world.clock, changes.set_stored)

    @property
    def is_unavailable(self) -> bool:
        return self._failed

    def append(self, batches: Mapping[str, Batch]) -> dict[str, Appended]:
        self._failed = True
        if self.is_cut:
            raise CacheUnavailable("cut")
        found = self._log.append(batches)
        self._failed = False
        return found

    def since(self, tags: Mapping[str, str]) -> dict[str, Since]:
        raise AssertionError("it only appends")


class Live(Following):
    """Messages of one room on their way to one client."""

    subject = "alice"

    def __init__(self) -> None:
        super().__init__()
        self.broker = Broker()
        self.stage.world.ok("bob", "PUT", KITCHEN, OPEN)
        self.environments = [Environment(self.stage, self.broker) for _ in range(2)]
        self.again: list[tuple[float, Item]] = []
        """Rows of records that were not acknowledged, and when each was stored first."""
        self.done: dict[str, int] = {}
        """When the record of each message was acknowledged."""
        self.before: set[str] = set()
        """Messages from before the client followed the room."""
        self.delivered: list[str] = []
        self.hole_since: float | None = None
        self.resumed_at = self.seconds
        self.room = Room(KITCHEN, None, self, self.deliver)  # type: ignore[arg-type]
        now(self.room.subscribe())

    def deliver(self, message: Message) -> None:
        self.delivered.append(message["key"])

    # The client.

    def resume(self, meanwhile: int = 0) -> None:
        """Resume the room; frames are pushed while the answer is on its way. Then nothing acknowledged is missing."""
        self.resumed_at, self.hole_since = self.seconds, None
        if self.room.begin():
            try:
                again = True
                while again:
                    done = set(self.done)
                    answer = now(self.request("resume", rooms={KITCHEN: self.room.position}))
                    self.push(meanwhile, 0)
                    again = now(self.room.take(answer["rooms"][KITCHEN]))
            finally:
                self.room.end()
            missing = done - set(self.delivered) - self.before
            assert not missing, f"missing: {sorted(missing)}"
        assert len(self.delivered) == len(set(self.delivered)), "delivered twice"
        self.look()

    def receive(self, frame: dict[str, Any]) -> None:
        if self.room.receive(frame):
            self.resume()
        self.look()

    def look(self) -> None:
        """Note since when a frame is missing."""
        if not self.room.has_hole:
            self.hole_since = None
        elif self.hole_since is None:
            self.hole_since = self.seconds

    # What happens.

    @rule(age=ages, number=environments, fate=st.sampled_from(["done", "done", "done", "unhooked", "crashed"]))
    def store(self, age: float, number: int, fate: str) -> None:
        """Store a message. The environment may end before the hook, or after it and before the acknowledgement."""
        at, message_id = times.iso(self.clock.now() - round(age * SECOND)), f"m-{next(self.numbers)}"
        row: Item = {
            "roomId": KITCHEN,
            "timestampSk": keys.timestamp_sk(at, message_id, "a" * 12),
            "timestamp": at,
            "messageId": message_id,
            "userId": "bob",
        }
        self._store(row, number, fate)

    def _store(self, row: Item, number: int, fate: str) -> None:
        environment = self.environments[number]
        batch = row_writer.Batch([(MESSAGE, dict(row))])
        batch.run([(MESSAGE, environment.check.before_store)])
        put_or_find(self.stage.world.write_path.store, batch, environment.known.known)
        if fate != "unhooked":
            batch.run([(MESSAGE, environment.hook.after_store)])
        assert batch.reasons == [None]
        if fate == "done":
            self.done.setdefault(row["timestampSk"], self.clock.now())
        else:
            self.again.append((self.seconds, row))
            self.environments[number] = Environment(self.stage, self.broker)

    @rule(number=environments)
    def redeliver(self, number: int) -> None:
        while self.again:
            self._store(self.again.pop()[1], number, "done")

    @rule(count=st.integers(1, 4), swap=st.integers(0, 2), lost=st.sampled_from(["", "", "", "batch", "frames"]))
    def push(self, count: int, swap: int, lost: str = "") -> None:
        """Push the oldest copies, perhaps not in order. The environment may end first; frames may be lost behind it."""
        batch, self.broker.queue = self.broker.queue[:count], self.broker.queue[count:]
        batch = batch[swap:] + batch[:swap]
        if lost == "batch":
            self.start_service()
            return
        for frame in self.pushed(batch):
            if lost != "frames":
                self.receive(frame)

    @rule(state=st.sampled_from(["up", "up", "down", "losing"]))
    def turn_broker(self, state: str) -> None:
        self.broker.state = state

    @rule(number=environments, is_cut=st.booleans())
    def cut_from_cache(self, number: int, is_cut: bool) -> None:
        self.environments[number].is_cut = is_cut

    @rule(what=st.sampled_from(["down", "up", "up", "lost"]))
    def turn_cache(self, what: str) -> None:
        if what == "lost":
            self.stage.cache.clear()
        self.stage.cache.down = what == "down"

    @rule(meanwhile=st.integers(0, 3))
    def reconnect(self, meanwhile: int) -> None:
        self.stage.connections.close(self.connection)
        self.connect()
        self.resume(meanwhile)

    @rule(seconds=pauses)
    def wait(self, seconds: float) -> None:
        """Let time pass. The client asks for a frame that is missing for a second, and for all every nine minutes."""
        end = self.seconds + seconds
        if seconds >= EXPIRY_SECONDS:
            self.broker.queue.clear()
        if any(at + RETRY_SECONDS < end for at, _ in self.again):
            self.redeliver(0)
        while True:
            hole = self.hole_since + LATE_FRAME if self.hole_since is not None else end
            due = min(hole, self.resumed_at + CHECK_SECONDS)
            if due >= end:
                break
            self.clock.advance(max(0.0, due - self.seconds))
            self.resume()
        self.clock.advance(max(0.0, end - self.seconds))
        late = {key for key, at in self.done.items() if self.clock.now() - at > CHECK_SECONDS * SECOND}
        assert late <= set(self.delivered) | self.before, "missing: not noticed in time"


@pytest.mark.timeout(0 if ASKED else 120)
def test_whatever_is_lost_every_message_is_delivered_once_and_in_time() -> None:
    """P13."""
    run(Live, ASKED or EXAMPLES, derandomize=not ASKED)


def test_a_frame_that_joins_frames_from_before_and_after_the_answer_of_a_resume_leaves_no_hole() -> None:
    live = Live()
    live.store(0.0, 0, "done")
    live.room.begin()
    answer = now(live.request("resume", rooms={KITCHEN: live.room.position}))
    live.store(0.0, 0, "done")
    live.push(2, 0)
    now(live.room.take(answer["rooms"][KITCHEN]))
    live.room.end()

    assert (len(live.delivered), live.room.has_hole) == (2, False)


@pytest.mark.parametrize(("lost", "found"), [("", False), ("batch", True)])
def test_who_is_told_of_missed_messages_resumes_only_if_one_is_missing(lost: str, found: bool) -> None:
    """A push that timed out may have arrived."""
    live = Live()
    live.store(0.0, 0, "done")
    live.push(1, 0, lost)
    live.store(0.0, 0, "done")
    (frame,) = live.pushed(live.broker.queue)

    assert live.room.receive(frame | {"missed": True}) == found
    assert len(live.delivered) == (0 if found else 2)


def _jump(room: Room) -> None:
    """Move over every frame, whatever it follows."""
    while room._links:
        room._move(room._links.popitem()[1])


MISTAKES: dict[str, tuple[Any, str]] = {
    "headrace.streams.chat.messages.positions.UNLOGGED": (0, "missing"),
    "headrace.streams.chat.messages.positions.OVERLAP": (0, "missing"),
    "headrace_client.room.REMEMBERED_SECONDS": (0, "delivered twice"),
    "headrace_client.room.Room._advance": (_jump, "missing"),
}


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_model_finds(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, found = MISTAKES[mistake]
    monkeypatch.setattr(mistake, wrong)

    with pytest.raises(AssertionError, match=found):
        run(Live, MISTAKEN_EXAMPLES, phases=[Phase.generate], report_multiple_bugs=False)
