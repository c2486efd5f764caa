"""A user's channel: whatever is lost, a client that reads again what changed shows what the routes show.

The routes of rooms, the logs, push_live, the frames of a connection and the channel of the Python client are the real
ones. The tables, the cache, the broker and the connections are in memory. The broker and the connections lose frames,
and the cache loses its data.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import rule

from headrace.core import keys
from headrace.core.times import SECOND, iso
from headrace.features.channels.channels import UserChannels
from headrace.streams.chat.rooms import routes
from headrace_client.channel import Channel
from tests.model.following import Following, now
from tests.model.running import ASKED, run
from tests.worlds.room_world import GROUP, OPEN

EXAMPLES = 150
MISTAKEN_EXAMPLES = 3000

OWNERS = {"kitchen": "alice", "den": "carol", "lounge": "alice", "hall": "alice"}
DIRECT = keys.direct_room("alice", "bob")
owners = st.sampled_from(["alice", "carol"])
rooms = st.sampled_from([*OWNERS])


class Channels(Following):
    """Bob follows his own user; Alice and Carol invite, add and remove him, and he acts on another device."""

    subject = "bob"

    def __init__(self) -> None:
        super().__init__()
        self.world = self.stage.world
        for room, owner in OWNERS.items():
            self.world.ok(owner, "PUT", room, OPEN if room == "hall" else GROUP)
        self.is_whole = False
        """Whether nothing was lost since Bob resumed."""
        self.rooms: dict[str, tuple[Any, Any, Any]] = {}
        self.marks: dict[str, str] = {}
        self.channel = Channel("bob", None, self, self.changed)  # type: ignore[arg-type]
        now(self.channel.subscribe())

    # What Bob shows, and what he should show.

    def room(self, room: str) -> tuple[Any, Any, Any]:
        """Bob's membership, invitation, and the texts of a room that he is in; or nothing if he may not see it."""
        status, body = self.world.request("bob", "GET", room)
        if status != 200:
            return None, None, None
        membership = body["membership"]
        is_in = membership is not None and membership["state"] == "in"
        return membership, body["invitation"], (body["name"], body["topic"]) if is_in else None

    def mark(self, room: str) -> str:
        return keys.shown_read_mark(self.world.row("bob", room).read_to or "")

    def changed(self, change: dict[str, Any] | None) -> None:
        if change is None:
            self.rooms = {room: self.room(room) for room in (*OWNERS, DIRECT)}
            self.marks = {room: self.mark(room) for room in OWNERS}
        elif change["changed"] == "readMark":
            marks = [self.marks.get(change["roomId"], ""), change["readTo"]]
            self.marks[change["roomId"]] = max(marks, key=lambda mark: f"{mark}$" if mark else "")
        else:
            self.rooms[change["roomId"]] = self.room(change["roomId"])

    def look(self) -> None:
        assert self.rooms == {room: self.room(room) for room in (*OWNERS, DIRECT)}, "missing: a change"
        assert self.marks == {room: self.mark(room) for room in OWNERS}, "missing: a read mark"

    # Bob's connection.

    def resume(self, meanwhile: int = 0) -> None:
        """Resume; frames are pushed while the answer is on its way. Then nothing is missing."""
        if not self.channel.begin():
            return
        self.is_whole = False
        again = True
        while again:
            position = self.channel.position
            assert now(self.request("check", users={"bob": position}, subscribe=False))["users"]["bob"]["position"]
            answer = now(self.request("resume", users={"bob": position}))
            self.push(meanwhile, 0)
            again = now(self.channel.take(answer["users"]["bob"]))
        self.channel.end()
        self.is_whole = True
        self.look()

    # What happens.

    def act(self, user: str, method: str, path: str, body: Any = None) -> None:
        """A request, which may be refused."""
        self.clock.advance(0.001)
        self.is_whole = self.is_whole and not self.world.live.down
        self.world.request(user, method, path, body)

    @rule(room=rooms, body=st.sampled_from([None, {"role": "owner"}, {"role": "member"}]))
    def invite(self, room: str, body: Any) -> None:
        self.act(OWNERS[room], "PUT", f"{room}/members/bob", body)

    @rule(room=rooms)
    def remove(self, room: str) -> None:
        self.act(OWNERS[room], "DELETE", f"{room}/members/bob")

    @rule(room=rooms)
    def join(self, room: str) -> None:
        self.act("bob", "PUT", f"{room}/members/bob")

    @rule(room=rooms, for_good=st.booleans())
    def leave(self, room: str, for_good: bool) -> None:
        self.act("bob", "DELETE", f"{room}/members/bob", {"forGood": True} if for_good else None)

    @rule(room=rooms, field=st.sampled_from(["name", "topic"]))
    def rename(self, room: str, field: str) -> None:
        self.act(OWNERS[room], "PATCH", room, {field: f"new {next(self.numbers)}"})

    @rule(room=rooms, seconds=st.integers(0, 3))
    def read(self, room: str, seconds: int) -> None:
        self.act("bob", "PUT", f"{room}/read", {"upTo": iso(self.clock.now() - seconds * SECOND)})

    @rule(owner=owners, method=st.sampled_from(["PUT", "PUT", "DELETE"]))
    def block(self, owner: str, method: str) -> None:
        self.act("bob", method, f"bob/blocked/{owner}")
        if method == "DELETE":
            # Invitations that the block hid count again, without a notice: the client reads them after it unblocks.
            self.rooms = {room: self.room(room) for room in (*OWNERS, DIRECT)}

    @rule(user=st.sampled_from(["alice", "bob"]))
    def open_direct(self, user: str) -> None:
        self.act(user, "PUT", f"{user}/direct/{'bob' if user == 'alice' else 'alice'}")

    @rule()
    def meet(self) -> None:
        """Bob joins the lounge. While he is there, Alice adds him to other rooms at once."""
        self.act("alice", "PUT", "lounge/members/bob")
        self.act("bob", "PUT", "lounge/members/bob")

    @rule(count=st.integers(1, 6), swap=st.integers(0, 2), lost=st.sampled_from(["", "", "", "batch", "frames"]))
    def push(self, count: int, swap: int, lost: str = "") -> None:
        """Push the oldest copies, perhaps not in order. The environment may end first; frames may be lost behind it."""
        sent = self.world.live.sent
        batch = [each.body for each in sent[:count]]
        del sent[:count]
        batch = batch[swap:] + batch[:swap]
        if lost:
            self.is_whole = self.is_whole and not batch
        if lost == "batch":
            self.start_service()
            return
        for frame in self.pushed(batch):
            if lost != "frames" and self.channel.receive(frame):
                self.resume()
        if self.is_whole and not sent and not self.channel.has_hole:
            self.look()

    @rule(is_down=st.booleans())
    def turn_broker(self, is_down: bool) -> None:
        self.world.live.down = is_down

    @rule()
    def lose_cache(self) -> None:
        self.stage.cache.clear()
        self.is_whole = False

    @rule(seconds=st.sampled_from([0.1, 5.0, 130.0, 700.0]))
    def wait(self, seconds: float) -> None:
        """Let time pass. Live copies that wait for 5 s expire; after a second, the client asks for a missing frame."""
        if seconds >= 5 and self.world.live.sent:
            self.world.live.sent.clear()
            self.is_whole = False
        self.clock.advance(seconds)
        if seconds > 1 and self.channel.has_hole:
            self.resume()

    @rule(meanwhile=st.integers(0, 3), seconds=st.sampled_from([0.0, 5.0, 300.0]))
    def reconnect(self, meanwhile: int, seconds: float) -> None:
        self.stage.connections.close(self.connection)
        self.clock.advance(seconds)
        self.connect()
        self.resume(meanwhile)


@pytest.mark.timeout(0 if ASKED else 120)
def test_whatever_is_lost_a_user_that_reads_what_changed_shows_what_the_routes_show() -> None:
    run(Channels, ASKED or EXAMPLES, derandomize=not ASKED)


def _jump(channel: Channel) -> None:
    """Move over every frame, whatever it follows."""
    while channel._links:
        channel._move(channel._links.popitem()[1])


def _silent(*_: Any, **__: Any) -> None:
    """Tell no user."""


MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "a client that skips lost frames": (Channel, "_advance", _jump),
    "a room that tells no member of its name": (routes, "channel_members", lambda *_: []),
    "an inviter that tells no user": (UserChannels, "publish", _silent),
}


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_model_finds(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MISTAKES[mistake])

    with pytest.raises(AssertionError, match="missing"):
        run(Channels, MISTAKEN_EXAMPLES, phases=[Phase.generate], report_multiple_bugs=False)
