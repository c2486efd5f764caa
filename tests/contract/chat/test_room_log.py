"""One suite for every log of rooms: in memory, and in Redis on a cluster node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.api.paging.newest_page_cache import newest_page
from headrace.core.errors import CacheUnavailable
from headrace.core.keys import user_channel
from headrace.live.hints import NONE, SOME, live_marker
from headrace.storage.redis import Cache, connect
from headrace.streams.chat.messages import redis
from headrace.streams.chat.messages.positions import new_tag
from headrace.streams.chat.messages.redis import LOG_BYTES, RoomLog
from headrace.streams.chat.messages.room_log import Batch, LoggedFrame, Since
from tests.contract.redis_node import RedisNode
from tests.fakes.live import MemoryRoomLog
from tests.fakes.storage import MemoryCache

ROOM = "{caf\u00e9} }{ \u2615"


class Subject:
    """A log and its cache; ``lose`` deletes a key of it."""

    def __init__(self, cache: Cache, log: RoomLog, lose: Callable[[str], object]) -> None:
        self.cache = cache
        self.log = log
        self.lose = lose

    def append(self, *items: str, room: str = ROOM, is_logged: bool = True) -> str:
        """The tag of an appended batch with one frame for each of ``items``."""
        frames = [LoggedFrame(new_tag(), 7, each) for each in items]
        self.log.append({room: Batch(frames[-1].tag, frames if is_logged else [])})
        return frames[-1].tag

    def since(self, tag: str, room: str = ROOM) -> list[str] | None:
        frames = self.log.since({room: tag})[room].frames
        return None if frames is None else [each.items for each in frames]


@pytest.fixture(params=["memory", "redis"])
def subject(request: pytest.FixtureRequest) -> Subject:
    if request.param == "memory":
        memory = MemoryCache()
        return Subject(memory, MemoryRoomLog(memory), memory.forget)
    return in_redis(request.getfixturevalue("redis_node"))


def in_redis(node: RedisNode) -> Subject:
    node.start()
    client = connect(node.settings, 1.0)
    client.flushall()
    cache = Cache.of(node.settings)
    return Subject(cache, RoomLog(cache), client.delete)


def test_what_was_appended_after_a_tag_is_read_in_order(subject: Subject) -> None:
    first = subject.log.since({ROOM: "", "hall": ""})
    one, two = subject.append('["one"]'), subject.append('["two"]', '["\u2615 three"]')
    subject.append('["elsewhere"]', room="hall")

    assert subject.since(first[ROOM].tag) == ['["one"]', '["two"]', '["\u2615 three"]']
    assert subject.since(one) == ['["two"]', '["\u2615 three"]']
    assert subject.since(two) == []
    assert subject.since(new_tag()) is None
    assert subject.log.since({ROOM: ""})[ROOM] == Since(two)
    assert subject.since(first["hall"].tag, "hall") == ['["elsewhere"]']


def test_each_batch_follows_the_one_before_it_and_returns_the_mark(subject: Subject) -> None:
    subject.cache.set_many({live_marker("hall"): (SOME, 60), newest_page("hall"): (b"page", 60)})
    batches = [{room: Batch(f"{number}{room}") for room in (ROOM, "hall")} for number in range(2)]

    found = [subject.log.append(each) for each in batches]

    assert [[(each.follows, each.mark) for each in rooms.values()] for rooms in found] == [
        [("", None), ("", SOME)],
        [(f"0{ROOM}", None), ("0hall", SOME)],
    ]
    assert subject.cache.get_many([newest_page("hall")]) == [None]


@pytest.mark.parametrize("reason", ["without subscribers", "not logged", "lost"])
def test_a_log_with_a_missing_frame_is_read_only_behind_it(subject: Subject, reason: str) -> None:
    before = subject.append('["before"]')
    if reason == "without subscribers":
        subject.cache.set_many({live_marker(ROOM): (NONE, 60)})
    if reason == "lost":
        subject.lose(redis.room_key("tag", ROOM))
    missing = subject.append('["missing"]', is_logged=reason != "not logged")
    subject.lose(live_marker(ROOM))
    subject.append('["after"]')

    assert subject.since(before) is None
    assert subject.since(missing) == ['["after"]']
    assert subject.since("") is None


def test_the_log_of_a_users_channel_is_kept_without_subscribers(subject: Subject) -> None:
    channel = user_channel("caf\u00e9 #1")
    subject.cache.set_many({live_marker(channel): (NONE, 60)})

    first = subject.append('["one"]', room=channel)
    subject.append('["two"]', room=channel)

    assert subject.since(first, channel) == ['["two"]']


def test_a_long_log_drops_its_older_half(redis_node: RedisNode) -> None:
    subject, items = in_redis(redis_node), f'["{"x" * 10_000}"]'
    tags = [subject.append(items) for _ in range(LOG_BYTES // len(items) + 1)]

    found = [subject.since(tag) for tag in tags]

    assert found[0] is None
    assert found[-10:] == [[items] * number for number in reversed(range(10))]


def test_a_log_says_whether_it_failed_a_moment_ago(redis_node: RedisNode) -> None:
    subject = in_redis(redis_node)
    subject.append("[]")
    before = subject.log.is_unavailable
    redis_node.kill()

    with pytest.raises(CacheUnavailable):
        subject.append("[]")

    assert (before, subject.log.is_unavailable) == (False, True)
