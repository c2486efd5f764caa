"""Every query about clicks has the answer of a list of all stored clicks, after any faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.api.router import Handler
from headrace.core import keys, times
from headrace.core.items import Item
from headrace.core.times import parse_iso
from headrace.features.ads import routes
from headrace.features.ads.routes import POINTS_LIMIT
from headrace.features.analytics.windows import TAIL_SECONDS
from tests.worlds.ads_world import SETTLE, START, AdsWorld, click

NOW = parse_iso(START)
ADS, USERS, TYPES = ("ad-1", "ad-2"), ("ann", "bob"), ("banner", "video")
# Few ids, times and ads, so that ids repeat with other times and ads.
CLICKS = st.builds(
    lambda ad, user, kind, at, one: {
        "adId": ad,
        "userId": user,
        "adType": kind,
        "clickedAt": at,
        **({"clickId": one} if one else {}),
    },
    st.sampled_from(("ad-1", "ad-1", "ad-2")),
    st.sampled_from(USERS),
    st.sampled_from(TYPES),
    st.sampled_from([times.iso(NOW - ago * times.SECOND) for ago in (0, 0, 29, 31, 100, 3599, 7000, 90_000)]),
    st.sampled_from((None, None, "a", "b", "c", "d")),
)
NAMED = ("clickId", "adId", "userId", "adType")
SENDERS = st.sampled_from(("ad-server", "other"))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.tuples(SENDERS, st.lists(CLICKS, min_size=1, max_size=6))),
        st.tuples(st.just("store"), st.tuples(SENDERS, st.lists(CLICKS, min_size=1, max_size=4))),
        st.tuples(st.just("outage"), st.tuples(SENDERS, st.lists(CLICKS, min_size=1, max_size=3))),
        st.tuples(st.just("take_back"), st.tuples(SENDERS, st.lists(CLICKS, min_size=1, max_size=2))),
        st.tuples(st.just("take_one_back"), st.integers(0, 50)),
        st.tuples(st.just("deliver"), st.integers(0, 5)),
        st.tuples(st.just("again"), st.integers(0, 50)),
        st.tuples(st.just("blackout"), st.integers(0, 5)),
        st.tuples(st.just("retry"), st.none()),
        st.tuples(st.just("lose"), st.none()),
        st.tuples(st.just("cache"), st.booleans()),
        st.tuples(st.just("lag"), st.sampled_from((0.0, 1.0, SETTLE - 0.5))),
        st.tuples(st.just("wait"), st.sampled_from((1.0, 12.0, 61.0, 3700.0))),
        st.tuples(st.just("check_answers"), st.none()),
    ),
    min_size=6,
    max_size=25,
)


class AdsModel:
    """The clicks that were sent and stored, as the expected answers are computed from them."""

    def __init__(self) -> None:
        self.world = AdsWorld()
        self.waiting: list[bytes] = []
        self.delivered: list[bytes] = []
        self.sent: set[tuple[str, ...]] = set()
        self.stored: dict[tuple[str, str], Item] = {}
        self.since: dict[tuple[str, str], int] = {}
        self.taken_back: set[tuple[str, str]] = set()
        self.gone: dict[tuple[str, str], tuple[int, Item]] = {}
        """Clicks that were taken back, and since when; 0: not yet for sure."""

    def send(self, value: Any) -> None:
        sender, clicks = value
        status, body = self.world.post(*(click(**each) for each in clicks), subject=sender)
        assert status == 202
        for each, result in zip(clicks, body["results"], strict=True):
            fields = (each["adId"], each["userId"], each["adType"], result["clickedAt"], result["clickId"])
            self.sent.add((keys.sender_tag(sender), *fields))
        self.waiting += self.world.accepted()

    def store(self, value: Any) -> None:
        self.send(value)
        self.deliver(len(self.waiting) - 1)

    def outage(self, value: Any) -> None:
        """The broker is unavailable: events take the retry lane."""
        self.world.broker.down = True
        self.send(value)
        self.world.broker.down = False

    def take_back(self, value: Any) -> None:
        sender, clicks = value
        status, body = self.world.take_back(*(click(**each) for each in clicks), subject=sender)
        assert status == 202
        self.taken_back |= {(result["clickId"], keys.sender_tag(sender)) for result in body["results"]}
        self.waiting += self.world.accepted()

    def take_one_back(self, at: int) -> None:
        """Take back one of the clicks that are stored."""
        if self.stored:
            row = list(self.stored.values())[at % len(self.stored)]
            sender = "other" if row["sender"] == keys.sender_tag("other") else "ad-server"
            named = {"clickedAt": row["timestampSk"][:27], **{name: row[name] for name in NAMED}}
            self.take_back((sender, [named]))
            self.deliver(len(self.waiting) - 1)

    def deliver(self, at: int) -> None:
        if self.waiting:
            self.delivered.append(self.waiting.pop(at % len(self.waiting)))
            self.give(self.delivered[-1])

    def again(self, at: int) -> None:
        """Deliver a record again, as a redelivery, a redrive or a replay does."""
        if self.delivered:
            self.give(self.delivered[at % len(self.delivered)])

    def blackout(self, at: int) -> None:
        """The table is unavailable: delivered events take the retry lane."""
        self.world.store.down = True
        self.deliver(at)
        self.world.store.down = False

    def give(self, body: bytes) -> None:
        self.world.deliver(body)
        self.note()

    def retry(self, _: object = None) -> bool:
        done = self.world.retry_all()
        self.note()
        return done

    def note(self) -> None:
        """P3: every stored row was sent; no row is deleted but by taking it back, or changed."""
        rows = {(row["clickId"], row["sender"]): row for row in self.world.rows()}
        for key, row in rows.items():
            fields = (row["adId"], row["userId"], row["adType"], row["timestampSk"][:27], row["clickId"])
            assert (row["sender"], *fields) in self.sent
            if not self.world.retry.records:
                self.since.setdefault(key, self.world.clock.now())
        gone = self.stored.keys() - rows.keys()
        assert gone <= self.taken_back
        self.gone |= {key: (0, self.stored[key]) for key in gone}
        if not self.world.retry.records:
            self.gone = {key: (at or self.world.clock.now(), row) for key, (at, row) in self.gone.items()}
        assert all(rows[key] == self.stored[key] for key in self.stored.keys() & rows.keys())
        self.stored = rows

    def lose(self, _: object) -> None:
        self.world.cache.clear()

    def cache(self, is_there: bool) -> None:
        self.world.cache.down = not is_there

    def lag(self, seconds: float) -> None:
        self.world.store.lag = seconds

    def wait(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    def check_answers(self, _: object = None) -> None:
        """An answer counts every settled row, and no row that is not stored or was not when the tail was read."""
        until = self.world.clock.now() - SETTLE * times.SECOND
        settled = [(key, row) for key, row in self.stored.items() if self.since.get(key, until + 1) <= until]
        sure = [row for key, row in settled if key not in self.taken_back]
        read_after = self.world.clock.now() - int(TAIL_SECONDS * times.SECOND)
        possible = [*self.stored.values()]
        possible += [row for at, row in self.gone.values() if not at or at >= read_after - SETTLE * times.SECOND]
        for ad in ADS:
            status, body = self.world.request(routes.stats, self.window("3600", hours=20), adId=ad)
            low, high = (within(rows, ad, hours=20) for rows in (sure, possible))
            assert status in (200, 404)
            assert len(low) <= (body["clicks"] if status == 200 else 0) <= len(high)

    def window(self, step: str = "", hours: int = 26) -> dict[str, str]:
        query = {"from": times.iso(NOW - hours * times.HOUR), "to": times.iso(NOW + 17 * times.SECOND)}
        return {**query, "step": step} if step else query

    def settle(self) -> None:
        """Store everything and wait for the settling time; from then on every answer must be exact."""
        self.world.cache.down = False
        while self.waiting:
            self.deliver(0)
        for _ in range(4):
            self.retry()
            self.wait(20)
        assert self.retry()
        assert not self.stored.keys() & self.taken_back
        self.wait(SETTLE + 0.001)
        for router in (self.world.router, self.world.reader()):
            self.judge(router)
        self.wait(30)
        self.judge(self.world.router)

    def judge(self, router: Handler) -> None:
        rows = list(self.stored.values())
        get = self.world.request
        _, top = get(routes.top, self.window(), router=router)
        ranked = sorted(Counter(row["adId"] for row in rows).items(), key=lambda pair: (-pair[1], pair[0]))
        assert top["topAds"] == [{"adId": ad, "clicks": clicks} for ad, clicks in ranked]
        assert {**top, **counts(rows)} == top
        clicked = {row["adId"] for row in rows}
        for ad in set(ADS) - clicked:
            assert get(routes.stats, self.window("60", 1), router=router, adId=ad)[0] == 404
            assert get(routes.ad_clicks, router=router, adId=ad)[0] == 404
        for ad in clicked:
            for step, hours in (("60", 1), ("3600", 4), ("86400", 26)):
                _, stats = get(routes.stats, self.window(step, hours), router=router, adId=ad)
                assert {**stats, **counts(within(rows, ad, hours))} == stats
                assert stats["points"] == points(within(rows, ad, hours), self.window(step, hours))
            assert self.history(routes.ad_clicks, router, adId=ad) == listed(rows, "adId", ad)
        for user in USERS:
            assert self.history(routes.user_clicks, router, userId=user) == listed(rows, "userId", user)

    def history(self, route: Any, router: Handler, **path: str) -> list[str]:
        pages = self.world.walk(route, {"limit": "2"}, router=router, **path)
        return [item["key"] for page in pages for item in page["items"]]


def within(rows: Iterable[Item], ad: str, hours: int) -> list[Item]:
    start, end = (times.iso(NOW + each) for each in (-hours * times.HOUR, 17 * times.SECOND))
    return [row for row in rows if row["adId"] == ad and start <= row["timestampSk"][:27] < end]


def counts(rows: list[Item]) -> dict[str, Any]:
    types = Counter(row["adType"] for row in rows)
    return {"clicks": len(rows), "uniqueUsers": len({row["userId"] for row in rows}), "types": types}


def points(rows: list[Item], query: dict[str, str]) -> list[dict[str, Any]]:
    start, end = (times.micros_of(query[name]) for name in ("from", "to"))
    step = int(query["step"]) * times.SECOND
    return [
        {
            "from": times.iso(max(at, start)),
            **counts([row for row in rows if at <= times.micros_of(row["timestampSk"][:27]) < at + step]),
        }
        for at in range(start - start % step, end, step)
    ]


def listed(rows: list[Item], name: str, value: str) -> list[str]:
    return sorted((row["timestampSk"] for row in rows if row[name] == value), reverse=True)


@given(STEPS)
def test_p3_p9_every_answer_equals_that_of_a_list_of_all_stored_clicks(steps: list[Any]) -> None:
    model = AdsModel()
    for name, value in steps:
        getattr(model, name)(value)
    model.settle()


def test_an_answer_has_at_most_1500_steps() -> None:
    """Steps that the window only touches count too."""
    world = AdsWorld()
    world.store_all(click(adId="ad-1", clickedAt=START))
    start = times.micros_of(START)

    def get(minutes: int, seconds: int) -> tuple[int, Any]:
        end = start + minutes * times.MINUTE + seconds * times.SECOND
        return world.request(routes.stats, {"from": START, "to": times.iso(end), "step": "60"}, adId="ad-1")

    status, body = get(1499, 0)  # the window begins in the middle of a minute
    assert (status, len(body["points"])) == (200, POINTS_LIMIT)
    status, body = get(1499, 31)
    assert (status, body["error"]["details"][0]["field"]) == (400, "step")
