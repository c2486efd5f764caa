"""push_live uses subscriptions again, and no user gets or misses a message by that."""

from __future__ import annotations

import base64
import json

from hypothesis import example, given
from hypothesis import strategies as st

from headrace.core.times import SECOND, iso
from headrace.live.hints import KEPT_SECONDS, SubscriberHints
from headrace.live.push_service import PushService
from headrace.streams.chat.messages.hooks import LiveHook
from tests.fakes.live import MemoryPusher, MemoryRoomLog
from tests.fakes.queues import MemoryLivePublisher
from tests.worlds.frame_stage import Stage
from tests.worlds.room_world import GROUP
from tests.worlds.senders import CHAT, CLOCK, TABLE, message, sender

USERS = ("alice", "bob", "carol")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["join", "leave", "subscribe", "unsubscribe"]), st.sampled_from(USERS[1:])),
        st.tuples(st.sampled_from(["store", "push"]), st.just("")),
        st.tuples(st.sampled_from(["wait", "fail", "recover"]), st.just("")),
    ),
    max_size=40,
)


class LiveRoom:
    """A room with members, its live copies, and push_live. ``due`` are the messages that each user must get."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.world = self.stage.world
        self.connections, cache = self.stage.connections, self.stage.cache
        self.cache = cache
        self.publisher, self.api = MemoryLivePublisher(), MemoryPusher()
        self.hints = SubscriberHints(cache, self.connections, lambda: self.world.clock.now() / SECOND)
        self.hook = LiveHook(
            MemoryRoomLog(cache), self.hints, lambda: self.publisher, self.world.clock, lambda *_: None
        )
        self.service = PushService(self.connections, self.api, lambda: self.world.clock.now() / SECOND)
        self.due: dict[str, set[str]] = {user: set() for user in USERS}
        self.forbidden: dict[str, set[str]] = {user: set() for user in USERS}
        self.followers: set[str] = set()
        self.unmarked: set[str] = set()
        """Who subscribed while the cache was unavailable: within a second, a frame may be missing."""
        self.ending: set[str] = set()
        """Who unsubscribed while the cache was unavailable: within a second, a frame may still arrive."""
        self.stored = 0
        self.world.ok("alice", "PUT", "den", GROUP)
        self.follow("alice")

    def follow(self, user: str) -> None:
        answer = self.stage.request("subscribe", user, connection=f"c-{user}", roomId="den")
        if answer["type"] == "subscribed":
            self.followers.add(user)
            self.forbidden[user].clear()  # what is on its way may reach them or not
            self.ending.discard(user)
            (self.unmarked.add if self.cache.down else self.unmarked.discard)(user)

    def end(self, user: str) -> None:
        self.followers.discard(user)
        self.due[user].clear()

    def step(self, action: str, user: str) -> None:
        self.world.clock.advance(0.001)  # who returns in the microsecond of a leave is in the room from the next one on
        if action == "join":
            self.world.bring("alice", "den", user)
        elif action == "leave":
            self.world.request("alice", "DELETE", f"den/members/{user}")
            self.ending.discard(user)
            self.end(user)
        elif action == "subscribe":
            self.follow(user)
        elif action == "unsubscribe":
            self.stage.request("unsubscribe", user, connection=f"c-{user}", roomId="den")
            self.end(user)
            if self.cache.down:
                self.ending.add(user)
        elif action == "store":
            self.store()
        elif action == "push":
            self.push()
        elif action == "wait":
            self.world.clock.advance(KEPT_SECONDS / 2)
        else:
            self.cache.down = action == "fail"

    def store(self) -> None:
        self.stored += 1
        text, now = f"m-{self.stored}", iso(self.world.clock.now())
        event = CHAT.accept(message(roomId="den", message=text, messageId=text, timestamp=now), sender()).event
        self.hook.after_store([CHAT.item(event, CLOCK.now(), TABLE)])
        for user in USERS:
            if user in self.ending:
                continue
            if user not in self.followers:
                self.forbidden[user].add(text)
            elif user not in self.unmarked:
                self.due[user].add(text)

    def push(self) -> None:
        records = [{"data": base64.b64encode(each.body).decode()} for each in self.publisher.sent]
        self.publisher.sent.clear()
        self.service.push({"rmqMessagesByQueue": {"live.0::/": records}})

    def got(self, user: str) -> set[str]:
        frames = map(json.loads, self.api.sent[f"c-{user}"])
        return {item["messageId"] for frame in frames for item in frame["items"]}


@given(STEPS)
@example([("join", "bob"), ("subscribe", "bob"), ("store", ""), ("push", ""), ("leave", "bob"), ("store", "")])
def test_only_who_follows_when_a_message_is_stored_gets_it(steps: list[tuple[str, str]]) -> None:
    room = LiveRoom()

    for action, user in steps:
        room.step(action, user)
    room.push()

    for user in USERS:
        assert room.due[user] <= room.got(user)
        assert not room.forbidden[user] & room.got(user)
