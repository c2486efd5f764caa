"""Every page of history equals a brute-force model's page, during joins, leaves, writes and cache outages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from headrace.api.paging.request import PageRequest
from headrace.core import keys, times
from headrace.core.errors import Forbidden, NotFound
from headrace.core.keys import newest_page
from tests.model.reading import IDS, ROOMS, START, USERS, Model, Platform, Said, around, one_way, time_of
from tests.model.running import ASKED, run
from tests.worlds.history_world import body

EXAMPLES = 200
TICKS = 6
LIMITS = st.integers(1, 6)

users = st.sampled_from(USERS)
rooms = st.sampled_from(["club", "club", "stadium~4", "stadium~4", "hall", "arena~2", "nowhere"])
ticks = st.integers(0, TICKS)
bounds = st.tuples(st.none() | ticks, st.none() | ticks).filter(lambda two: None in two or two[0] <= two[1])


@dataclass
class Walk:
    """A walk through pages; ``must``: keys that were readable from its beginning until now."""

    user: str
    room: str
    newest_first: bool
    cursor: str | None
    must: set[str]
    seen: list[str] = field(default_factory=list)
    has_more: bool = True


class Reading(RuleBasedStateMachine):
    """P7, P10 and P12 for the history of rooms and users."""

    def __init__(self) -> None:
        super().__init__()
        self.platform = Platform()
        self.model = Model()
        self.walks: list[Walk] = []
        self.model.remember(self.now)

    @property
    def now(self) -> int:
        return self.platform.clock.now()

    def changed(self) -> None:
        self.model.remember(self.now)
        for walk in self.walks:
            walk.must &= {each.key for each in self.model.room(walk.user, walk.room, self.now)}

    @rule(
        room=rooms,
        user=users,
        tick=ticks,
        id_=st.sampled_from(IDS),
        lasts=st.sampled_from([3, 3, 10**6]),
        invalidates=st.booleans(),
    )
    def store_message(self, room: str, user: str, tick: int, id_: str, lasts: int, invalidates: bool) -> None:
        said = Said(room, user, time_of(tick), id_, keys.sender_tag(user), START // times.SECOND + lasts)
        known = {(each.room, each.key) for each in self.model.said}
        if (said.room, said.key) not in known:
            self.model.said.append(said)
            self.platform.store(said, invalidates=invalidates)
            self.changed()

    @initialize(
        said=st.lists(st.tuples(rooms, users, ticks, st.sampled_from(IDS)), min_size=5, max_size=30),
        moves=st.lists(st.tuples(users, ticks, st.booleans()), max_size=10),
    )
    def begin_with_messages(self, said: Any, moves: Any) -> None:
        for room, user, tick, id_ in said:
            self.store_message(room, user, tick, id_, 10**6, True)
        for user, tick, leaves in moves:
            self.move(user, tick, leaves, "x")

    @rule(user=users, tick=ticks, leaves=st.booleans(), event_id=st.sampled_from("xy"))
    def move(self, user: str, tick: int, leaves: bool, event_id: str) -> None:
        self.model.moves.add((user, time_of(tick), int(leaves)))
        self.platform.move("leave" if leaves else "join", user, tick, event_id)
        self.changed()

    @rule(seconds=st.sampled_from([0.3, 1.0, 1.7, 2.1]))
    def wait(self, seconds: float) -> None:
        self.model.remember(self.now)
        self.platform.clock.advance(seconds)
        self.changed()

    @rule(down=st.booleans())
    def cache_outage(self, down: bool) -> None:
        self.platform.cache.down = down

    @rule()
    def cache_is_emptied(self) -> None:
        self.platform.cache.clear()

    @precondition(lambda self: not self.platform.cache.down)
    @rule(room=rooms, user=users, tick=ticks, id_=st.sampled_from(IDS), seconds=st.sampled_from([0.3, 2.1]))
    def delayed_write_to_the_cache(self, room: str, user: str, tick: int, id_: str, seconds: float) -> None:
        """A write reaches the cache only after the deletion that followed it."""
        cache, key = self.platform.cache, newest_page(room)
        (value,) = cache.get_many([key])
        self.store_message(room, user, tick, id_, 10**6, True)
        self.wait(seconds)
        if value is not None:
            cache.set_many({key: (value, 2)})

    @rule(looking=st.permutations(USERS), room=rooms, limit=st.integers(1, 3))
    def newest_page_of_a_room(self, looking: list[str], room: str, limit: int) -> None:
        """P10: a page of some moment of the last 2 s, filtered by the reader's current rights."""
        for user in looking:
            page = self.room_page(user, room, PageRequest(limit=limit))
            if page is not None:
                allowed = [
                    one_way(self.model.room(user, room, when, said), limit, newest_first=True, ahead=lambda _: True)
                    for when, said in self.model.moments
                ]
                assert self.shown(page) in allowed

    @rule(user=users, room=rooms, limit=st.integers(4, 200), two=bounds)
    def any_other_page_of_a_room(self, user: str, room: str, limit: int, two: Any) -> None:
        start, end = self.times_of(two)
        page = self.room_page(user, room, PageRequest(limit=limit, start=start, end=end))
        if page is not None:
            within = self.within(self.model.room(user, room, self.now), start, end)
            assert self.shown(page) == one_way(within, limit, newest_first=True, ahead=lambda _: True)

    @rule(
        user=users,
        room=rooms,
        limit=LIMITS,
        two=bounds,
        place=st.tuples(ticks, st.sampled_from(IDS), st.none() | users),
        which=st.none() | st.integers(0, 40),
        field=st.sampled_from(["before", "after", "around"]),
    )
    def a_page_at_a_key(
        self,
        user: str,
        room: str,
        limit: int,
        two: Any,
        place: tuple[int, str, str | None],
        which: int | None,
        field: str,
    ) -> None:
        start, end = self.times_of(two)
        tick, id_, tag = place
        if which is not None and self.model.said:
            known = self.model.said[which % len(self.model.said)]
            room, tick, id_ = known.room, round((times.micros_of(known.at) - START) / times.SECOND), known.id
        key = f"{time_of(tick)}#{id_}" + (f"#{keys.sender_tag(tag)}" if tag else "")
        page = self.room_page(user, room, PageRequest(limit=limit, start=start, end=end, **{field: key}))
        if page is None:
            return
        within = self.within(self.model.room(user, room, self.now), start, end)
        bound = (time_of(tick), id_ + "#", keys.sender_tag(tag) if tag else "")
        size = 3 if tag else 2
        if field == "around":
            expected = around(within, limit, is_newer=lambda each: each.place[:size] > bound[:size])
        elif field == "before":
            expected = one_way(within, limit, newest_first=True, ahead=lambda each: each.place[:size] < bound[:size])
        else:
            expected = one_way(within, limit, newest_first=False, ahead=lambda each: each.place[:size] > bound[:size])
        assert self.shown(page) == expected
        back = {"before": ("after", page["previous"]), "after": ("before", page["next"])}.get(field)
        if back is not None and not page["items"]:
            again = self.room_page(user, room, PageRequest(limit=200, start=start, end=end, **dict([back])))
            assert again is None or self.shown(again) == ([each.key for each in within], False)

    @rule(caller=users, user=users, limit=LIMITS, two=bounds)
    def messages_of_a_user(self, caller: str, user: str, limit: int, two: Any) -> None:
        """P12: a walk through all pages returns exactly the readable messages."""
        start, end = self.times_of(two)
        expected = self.within(self.model.messages_of(caller, user, self.now), start, end)
        seen: list[tuple[str, str]] = []
        cursor: str | None = None
        while True:
            request = PageRequest(limit=limit, before=cursor, start=start, end=end)
            try:
                page = body(self.platform.history.user(self.platform.caller(caller), user, request))
            except NotFound:
                assert not any(each.user == user for each in self.model.said)
                break
            seen += [(item["roomId"], item["key"]) for item in page["items"]]
            cursor = page["next"]
            assert page["hasMore"] == (len(seen) < len(expected))
            if not page["hasMore"]:
                break
        assert seen == [(each.room, each.key) for each in expected]

    @precondition(lambda self: len(self.walks) < 3)
    @rule(user=users, room=rooms, limit=LIMITS, newest_first=st.booleans())
    def begin_a_walk(self, user: str, room: str, limit: int, newest_first: bool) -> None:
        """P7: begin a walk in either direction; the newest page may be 2 s old."""
        readable = {each.key for each in self.model.room(user, room, self.now)}
        for when, said in self.model.moments:
            if newest_first:
                readable &= {each.key for each in self.model.room(user, room, when, said)}
        cursor = None if newest_first else f"{time_of(0)}# "
        self.walks.append(Walk(user, room, newest_first, cursor, readable))

    @precondition(lambda self: self.walks)
    @rule(which=st.integers(0, 2), limit=LIMITS)
    def continue_a_walk(self, which: int, limit: int) -> None:
        walk = self.walks[which % len(self.walks)]
        place = {"before" if walk.newest_first else "after": walk.cursor}
        page = self.room_page(walk.user, walk.room, PageRequest(limit=limit, **place))
        if page is None:
            self.walks.remove(walk)
            return
        found = [item["key"] for item in page["items"]]
        walk.seen += found if walk.newest_first else found[::-1]
        walk.cursor = page["next"] if walk.newest_first else page["previous"]
        ordered = sorted(walk.seen, key=lambda key: (key[:27], key[28:]), reverse=walk.newest_first)
        assert walk.seen == ordered
        assert len(set(walk.seen)) == len(walk.seen)
        if not page["hasMore"]:
            assert walk.must <= set(walk.seen)
            self.walks.remove(walk)

    @invariant()
    def a_non_member_is_forbidden_to_read_the_room(self) -> None:
        if not self.model.was_ever_in("carol"):
            assert self.room_page("carol", "club", PageRequest()) is None
            assert self.room_page("carol", "stadium~4", PageRequest()) is None

    def room_page(self, user: str, room: str, request: PageRequest) -> dict[str, Any] | None:
        """The page; ``None`` if it is forbidden, which is asserted for users who were never members."""
        forbidden = ROOMS[room] == "members" and not self.model.was_ever_in(user)
        try:
            page = body(self.platform.history.room(self.platform.caller(user), room, request))
        except Forbidden:
            assert forbidden
            return None
        except NotFound:
            assert ROOMS[room] is None
            return {"items": [], "next": None, "previous": None, "hasMore": False}
        assert not forbidden
        assert page["items"] or ROOMS[room] is not None
        return page

    @staticmethod
    def shown(page: dict[str, Any]) -> tuple[list[str], bool]:
        return [item["key"] for item in page["items"]], page["hasMore"]

    @staticmethod
    def times_of(two: Any) -> tuple[str | None, str | None]:
        start, end = (None if tick is None else time_of(tick) for tick in two)
        return start, end

    @staticmethod
    def within(said: list[Said], start: str | None, end: str | None) -> list[Said]:
        return [each for each in said if (start is None or each.at >= start) and (end is None or each.at < end)]


@pytest.fixture
def short_cached_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached pages are so short that a few messages fill them."""
    monkeypatch.setattr("headrace.api.paging.newest_page_cache.ROWS", 3)


@pytest.mark.timeout(0 if ASKED else 120)
@pytest.mark.usefixtures("short_cached_pages")
def test_every_page_equals_the_page_of_the_model() -> None:
    """P7, P10, P12."""
    run(Reading, ASKED or EXAMPLES, derandomize=not ASKED)
