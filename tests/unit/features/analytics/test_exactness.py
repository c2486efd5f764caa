"""P9: an answer equals a scan of the table at the beginning of the settling time or later, under any failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.core import times
from headrace.features.analytics.generations import CHANGED
from headrace.features.analytics.windows import TAIL_SECONDS
from tests.worlds.slot_world import SETTLE, START, SlotWorld, expected_points, expected_window

NOW = times.micros_of(START)
HOUR_AGO = NOW - times.HOUR
# Few times, users and windows, so that they often coincide: the edges of slots, and now (0).
ATS = st.one_of(
    st.sampled_from([0, HOUR_AGO, HOUR_AGO - 1, HOUR_AGO + times.MINUTE, NOW - times.MINUTE, NOW - times.DAY, NOW]),
    st.integers(NOW - 2 * times.MINUTE, NOW + times.MINUTE),
)
EVENTS = st.tuples(ATS, st.sampled_from(["u0", "u1", "я"]), st.sampled_from(["r0", "r1"]), st.sampled_from("abc"))
WINDOWS = st.sampled_from(
    [
        (HOUR_AGO, NOW),
        (HOUR_AGO, NOW + times.HOUR),
        (NOW - times.DAY, NOW),
        (NOW - times.DAY - 10 * times.HOUR, NOW + 14 * times.HOUR),
        (HOUR_AGO - 1, NOW + 1),
        (NOW - times.MINUTE, NOW),
        (NOW - 90 * times.SECOND, NOW - 30 * times.SECOND),
        (HOUR_AGO, HOUR_AGO + times.SECOND),
        # They cut the same ten seconds, at different times.
        (NOW - times.MINUTE - 1, NOW + 5 * times.SECOND),
        (NOW - times.MINUTE - 5 * times.SECOND, NOW),
    ]
)
SMALL = st.one_of(
    EVENTS.map(lambda event: ("put", event)),
    EVENTS.map(lambda event: ("put", event)),
    st.tuples(st.just("again"), st.integers(0, 20)),
    st.tuples(st.just("advance"), st.sampled_from([0.3, 3.0, 9.0, 13.0])),
    st.tuples(st.just("lose"), st.sampled_from(["all", "group", "one"])),
    st.tuples(st.just("down"), st.booleans()),
    st.just(("other", None)),
)
QUERIES = st.tuples(
    st.sampled_from(["window", "window", "series", "active_users"]),
    WINDOWS,
    st.sampled_from([{}, {}, {}, {"roomId": "r0"}, {"userId": "u1"}, {"roomId": "r1", "userId": "u1"}]),
    st.sampled_from(["60", "3600", "86400"]),
)
ASKS = st.tuples(st.just("ask"), st.tuples(st.integers(0, 1), QUERIES, st.lists(SMALL, max_size=8)))
STEPS = st.one_of(
    ASKS,
    SMALL,
    st.tuples(st.just("advance"), st.sampled_from([12.0, 61.0, 3600.0])),
    st.tuples(st.just("lag"), st.sampled_from([0.0, SETTLE - 0.5])),
    st.tuples(st.just("redeliver"), st.none()),
)


def query_of(found: Any) -> tuple[str, dict[str, str]]:
    kind, (start, end), narrowed, step = found
    query = {"from": times.iso(start), "to": times.iso(end), **narrowed}
    if kind == "series":
        query["step"] = step
    return kind, query


class Run:
    """Runs one step after the other, and checks each answer."""

    def __init__(self) -> None:
        self.world = SlotWorld()
        # The cache is older than the settling time, as it usually is.
        self.world.query(self.world.reader(), "window", {"from": times.iso(HOUR_AGO), "to": times.iso(NOW)})
        self.world.clock.advance(SETTLE + 2)
        self.queries: list[tuple[str, dict[str, str]]] = []

    def do(self, name: str, value: Any) -> None:
        getattr(self, f"do_{name}")(value)

    def do_put(self, event: Any) -> None:
        at, user, room, message_id = event
        self.world.put(self.world.row(at or self.world.clock.now(), user, room, message_id))

    def do_again(self, which: int) -> None:
        rows = list(self.world.rows.values())
        if rows:
            self.world.put(rows[which % len(rows)])

    def do_advance(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    def do_lag(self, seconds: float) -> None:
        self.world.lag = seconds

    def do_down(self, down: bool) -> None:
        """P10: without the cache, answers are the same."""
        self.world.cache.down = down

    def do_redeliver(self, _: object) -> None:
        self.world.redeliver()

    def do_lose(self, what: str) -> None:
        """Drop all entries, those of one node, or those that were not used recently, which a full cache evicts."""
        fits: dict[str, Callable[[str, bytes], bool]] = {
            "all": lambda *_: True,
            "group": lambda key, _: key.startswith(("{slots.1", "{slots.5", "{slots.7")),
            "one": lambda key, value: value != CHANGED and hash(key) % 3 == 0,
        }
        self.world.cache.drop(fits[what])

    def do_other(self, _: object) -> None:
        """Another reader sends the same query, possibly during the first one."""
        if self.queries:
            self.answer(self.world.reader(), *self.queries[-1])

    def do_ask(self, value: Any) -> None:
        reader, found, between = value
        self.queries.append(query_of(found))
        self.world.actions = [lambda name=name, what=what: self.do(name, what) for name, what in between]
        self.answer(self.world.readers[reader], *self.queries[-1])
        self.world.actions.clear()

    def answer(self, reader: Any, kind: str, query: dict[str, str]) -> None:
        """Query, and check that every row from before ``asOf`` is counted, and no row that is absent."""
        began = self.world.clock.now()
        answer = self.world.query(reader, kind, query)
        as_of = times.micros_of(answer["asOf"])
        assert -TAIL_SECONDS <= (as_of - began) / times.SECOND + SETTLE <= 0
        must, may = self.world.fitting(query, self.world.stored_by(as_of)), self.world.fitting(query)
        if kind == "active_users":
            assert answer["uniqueUsers"] <= len({row["userId"] for row in may})
            return
        points = answer.get("points")
        total = sum(point["messages"] for point in points) if points is not None else answer["totalMessages"]
        assert len(must) <= total <= len(may)

    def settle(self) -> None:
        """Write all marks and wait; from then on every answer must be exact."""
        self.world.cache.down = False
        self.world.redeliver()
        self.world.clock.advance(SETTLE + TAIL_SECONDS + 0.001)
        for _ in range(3):
            for kind, query in self.queries[-3:]:
                for reader in [*self.world.readers, self.world.reader()]:
                    answer = self.world.query(reader, kind, query)
                    rows = self.world.fitting(query)
                    if kind == "window":
                        assert {**answer, **expected_window(rows, query)} == answer
                    elif kind == "series":
                        assert answer["points"] == expected_points(rows, query) or len(answer["points"]) > 300
                    else:
                        assert answer["uniqueUsers"] == len({row["userId"] for row in rows})
            self.world.clock.advance(30)


@given(ASKS, st.lists(STEPS, max_size=12))
def test_p9_every_answer_equals_a_scan_once_events_are_settled_and_stays_so(first: Any, steps: list[Any]) -> None:
    run = Run()
    for name, value in [first, *steps]:
        run.do(name, value)
    run.settle()


OPEN_WINDOWS = [
    # Two that cut the same ten seconds, one that is all open at first, and one that ends in the open minute.
    (NOW - 26_500_000, NOW + times.HOUR),
    (NOW - 23_300_000, NOW + times.HOUR),
    (NOW + 13_300_000, NOW + times.HOUR),
    (NOW - 61_700_000, NOW + 37_700_000),
]
OPEN_STEPS = {
    "question": st.tuples(st.integers(0, 1), st.sampled_from(OPEN_WINDOWS)),
    "late": st.sampled_from([0, 1, 3, 9, 12.5, 16, 24, 31]),
    "advance": st.sampled_from([0.4, 1.0, 1.9, 3.0, 9.5, 11.0]),
    "lag": st.sampled_from([0.0, SETTLE - 0.01]),
    "lose": st.sampled_from(["all", "group", "one"]),
    "down": st.booleans(),
    "redeliver": st.none(),
}
OFTEN = [*["question"] * 10, *["late", "advance"] * 6, "lag", "lose", "down", "redeliver"]


class OpenRun(Run):
    """Messages of the last minute, each of another user, so that an answer tells which of them it counts."""

    def do_late(self, seconds: float) -> None:
        """Store a message that is so old."""
        name = f"m{len(self.world.rows)}"
        at = self.world.clock.now() - round(seconds * times.SECOND)
        self.world.put(self.world.row(at, name, message_id=name))

    def do_question(self, value: Any) -> None:
        """Ask an environment for a window."""
        reader, (start, end) = value
        query = {"from": times.iso(start), "to": times.iso(end), "top": "10000"}
        answer = self.world.query(self.world.readers[reader], "window", query)
        as_of = times.micros_of(answer["asOf"])
        assert -TAIL_SECONDS <= (as_of - self.world.clock.now()) / times.SECOND + SETTLE <= 0
        counted = {each["userId"]: each["messages"] for each in answer["topUsers"]}
        may = {row["userId"]: 1 for row in self.world.fitting(query)}
        assert counted.items() <= may.items()
        assert {row["userId"] for row in self.world.fitting(query, self.world.stored_by(as_of))} <= counted.keys()


@given(st.lists(st.sampled_from(OFTEN), min_size=40, max_size=40), st.data())
def test_p9_questions_about_the_open_minute_count_each_message_once_as_of_the_named_time(
    steps: list[str], data: st.DataObject
) -> None:
    run = OpenRun()
    run.world.lag = SETTLE - 0.01
    for name in steps:
        run.do(name, data.draw(OPEN_STEPS[name], name))
