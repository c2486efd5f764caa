"""Every query about rides has the answer of a list of all rides, after any faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from headrace.core.envelope import decode
from headrace.core.errors import StoreUnavailable
from headrace.features.ski import routes, skiers
from headrace.features.ski.resort_days import LAG, STALENESS
from tests.worlds.ski_world import TAKE_BACK, SkiWorld

RESORTS, SEASONS, DAYS, SKIERS, LIFTS = (7, 8), (2024, 2025), (1, 366), (1, 2, 30), (1, 2, 1000)


class Known(NamedTuple):
    """A ride of the model's list; equal rides are one."""

    sender: str
    resortID: int  # noqa: N815
    seasonID: int  # noqa: N815
    dayID: int  # noqa: N815
    skierID: int  # noqa: N815
    time: int
    liftID: int  # noqa: N815
    rideID: str | None  # noqa: N815


RIDES = st.builds(
    Known,
    st.sampled_from(("gate", "other")),
    # Mostly one resort's day, so that rides often share their counts.
    st.sampled_from((7, 7, 7, 8)),
    st.sampled_from((2025, 2025, 2025, 2024)),
    st.sampled_from((1, 1, 1, 366)),
    st.sampled_from(SKIERS),
    st.sampled_from((0, 59, 60, 1439)),
    st.sampled_from(LIFTS),
    st.sampled_from((None, "a", "b")),
)
Sent = tuple[Known, bool]
"""A ride that was sent, or (``True``) taken back."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.lists(RIDES, min_size=1, max_size=6)),
        st.tuples(st.just("store"), st.lists(RIDES, min_size=1, max_size=3)),
        st.tuples(st.just("outage"), st.lists(RIDES, min_size=1, max_size=3)),
        st.tuples(st.just("blackout"), st.lists(RIDES, min_size=1, max_size=3)),
        st.tuples(st.just("take_back"), st.lists(RIDES, min_size=1, max_size=3)),
        st.tuples(st.just("take_one_back"), st.integers(0, 50)),
        st.tuples(st.just("deliver"), st.integers(0, 5)),
        st.tuples(st.just("again"), st.integers(0, 50)),
        st.tuples(st.just("lose"), st.none()),
        st.tuples(st.just("cache"), st.booleans()),
        st.tuples(st.just("resorts"), st.booleans()),
        st.tuples(st.just("retry"), st.none()),
        st.tuples(st.just("lag"), st.sampled_from((0.0, 1.0, LAG / 1000))),
        st.tuples(st.just("wait"), st.sampled_from((0.3, 2.0, 6.0, 6.0, 4000.0))),
        st.tuples(st.just("check_answers"), st.none()),
        st.tuples(st.just("watch"), st.none()),
    ),
    min_size=8,
    max_size=30,
)


class SkiModel:
    """The sent rides, with the times from which each is stored and counted: the source of expected answers."""

    def __init__(self) -> None:
        self.world = SkiWorld()
        self.waiting: list[tuple[bytes, list[Sent]]] = []
        self.delivered: list[tuple[bytes, list[Sent]]] = []
        self.settled: dict[Sent, int] = {}
        self.started: set[Sent] = set()
        self.has_resorts = True

    def send(self, rides: list[Known]) -> None:
        for sender in ("gate", "other"):
            sent = [each for each in rides if each.sender == sender]
            if sent:
                status, _ = self.world.post(*map(body, sent), subject=sender)
                assert status == (202 if len(sent) > 1 else 201)
                (packed,) = self.world.accepted()
                assert len(decode(packed).events) == len(set(sent))
                self.waiting.append((packed, [(each, False) for each in sent]))

    def take_back(self, rides: list[Known]) -> None:
        for sender in ("gate", "other"):
            sent = [each for each in rides if each.sender == sender]
            if sent:
                assert self.world.send({"events": [*map(body, sent)]}, TAKE_BACK, subject=sender)[0] == 202
                self.waiting.append((self.world.accepted()[0], [(each, True) for each in sent]))

    def take_one_back(self, at: int) -> None:
        """Take back one of the rides that are stored."""
        if rides := sorted(self.standing(), key=str):
            self.take_back([rides[at % len(rides)]])
            self.deliver(-1)

    def standing(self) -> set[Known]:
        """The rides that are stored and not taken back."""
        return standing(self.started, self.started)

    def store(self, rides: list[Known]) -> None:
        self.send(rides)
        self.deliver(-1)

    def outage(self, rides: list[Known]) -> None:
        """Store rides while the cache is unavailable; its counts remain."""
        was, self.world.counts.down = self.world.counts.down, True
        self.store(rides)
        self.world.counts.down = was

    def blackout(self, rides: list[Known]) -> None:
        """Store rides while the cache and the table of resorts are unavailable."""
        had, self.has_resorts = self.has_resorts, False
        self.outage(rides)
        self.has_resorts = had

    def deliver(self, at: int) -> None:
        if self.waiting:
            self._give(*self.waiting.pop(at % len(self.waiting)))

    def again(self, at: int) -> None:
        """Deliver a record again, as a redelivery, a redrive or a replay does."""
        if self.delivered:
            self._give(*self.delivered[at % len(self.delivered)])

    def _give(self, packed: bytes, rides: list[Sent]) -> None:
        before = len(self.world.retry.records)
        self.world.resorts.failure = (
            None if self.has_resorts else StoreUnavailable("the table of resorts is unavailable")
        )
        self.world.deliver(packed)
        self.world.resorts.failure = None
        self.started.update(rides)
        self.delivered.append((packed, rides))
        if len(self.world.retry.records) == before:
            self._settle(rides)

    def lose(self, _: None) -> None:
        self.world.counts.clear()

    def cache(self, available: bool) -> None:
        self.world.counts.down = not available

    def resorts(self, available: bool) -> None:
        self.has_resorts = available

    def lag(self, seconds: float) -> None:
        self.world.index.lag = seconds

    def wait(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    def watch(self, _: None) -> None:
        """Query twice, with the longest lag of the index in between."""
        self.check_answers()
        self.wait(LAG / 1000)
        self.check_answers()

    def retry(self, _: None = None) -> None:
        if self.world.retry_all():
            self._settle(self.started)

    def _settle(self, rides: Iterable[Sent]) -> None:
        for each in rides:
            self.settled.setdefault(each, self.world.clock.now())

    def check_answers(self, _: None = None) -> None:
        """An answer may lack only what was stored last, and counts no ride that was not sent or is long taken back."""
        for day in sorted({(each.resortID, each.seasonID, each.dayID) for each, _ in self.started}):
            self._check_day(day)

    def _check_day(self, day: tuple[int, int, int]) -> None:
        oldest = self.world.clock.now() - STALENESS * 1000
        sure = [each for each, at in self.settled.items() if at < oldest]
        low, high = (self._counts(standing(*each), day) for each in ((sure, self.started), (self.started, sure)))
        found = self.counts_in_answers(day)
        for name, value in found.items():
            assert low[name] <= value <= high[name], (name, low, value, high)

    def counts_in_answers(self, day: tuple[int, int, int]) -> dict[str, int]:
        resort, season, number = day
        place = {"resortID": resort, "seasonID": season, "dayID": number}
        get = self.world.request
        hours = good(get(routes.hours, **place))["hours"]
        assert [each["hour"] for each in hours] == list(range(24))
        return {
            "skiers": good(get(routes.unique_skiers, **place))["numSkiers"],
            **{f"lift {lift}": good(get(routes.lift_rides, **place, liftID=lift))["rides"] for lift in LIFTS},
            **{f"hour {hour}": hours[hour]["rides"] for hour in range(24)},
        }

    @staticmethod
    def _counts(rides: Iterable[Known], day: tuple[int, int, int]) -> dict[str, int]:
        there = [each for each in rides if (each.resortID, each.seasonID, each.dayID) == day]
        lifts = Counter(each.liftID for each in there)
        hours = Counter(each.time // 60 for each in there)
        return {
            "skiers": len({each.skierID for each in there}),
            **{f"lift {lift}": lifts[lift] for lift in LIFTS},
            **{f"hour {hour}": hours[hour] for hour in range(24)},
        }

    def finish(self) -> None:
        """End all outages and store every ride."""
        self.world.counts.down = False
        self.has_resorts = True
        while self.waiting:
            self.deliver(0)
        self.retry()
        self.world.clock.advance(STALENESS / 1000)

    def check_all_rides(self) -> None:
        for season, number in [(season, number) for season in SEASONS for number in DAYS]:
            there = [each for each in self.standing() if (each.seasonID, each.dayID) == (season, number)]
            lifts, hours = Counter(each.liftID for each in there), Counter(each.time // 60 for each in there)
            assert good(self.world.request(routes.all_rides, seasonID=season, dayID=number)) == {
                "resorts": len(RESORTS),
                "missing": [],
                "lifts": [{"liftID": lift, "rides": lifts[lift]} for lift in sorted(lifts)],
                "hours": [{"hour": hour, "rides": hours[hour]} for hour in range(24)],
            }

    def check_days(self) -> None:
        for day in [(resort, season, number) for resort in RESORTS for season in SEASONS for number in DAYS]:
            assert self.counts_in_answers(day) == self._counts(self.standing(), day)

    def check_skiers(self) -> None:
        for skier in SKIERS:
            mine = sorted((each for each in self.standing() if each.skierID == skier), key=lambda each: each.time)
            for season in SEASONS:
                self._check_season(skier, season, [each for each in mine if each.seasonID == season])
            found = good(self.world.request(skiers.totals, {"resort": "7,8"}, skierID=skier))["resorts"]
            assert {(each["resortID"], each["seasonID"]): each["totalVert"] for each in found} == totals(mine)
            all_seasons = {"resort": "7,8", "season": ",".join(map(str, SEASONS))}
            assert good(self.world.request(skiers.totals, all_seasons, skierID=skier))["resorts"] == found

    def _check_season(self, skier: int, season: int, mine: list[Known]) -> None:
        get = self.world.request
        found = good(get(skiers.totals, {"resort": "8", "season": str(season)}, skierID=skier))["resorts"]
        assert {(each["resortID"], each["seasonID"]): each["totalVert"] for each in found} == totals(
            each for each in mine if each.resortID == 8
        )
        days = good(get(skiers.days, seasonID=season, skierID=skier))
        assert days["daysSkied"] == len({each.dayID for each in mine})
        for number in DAYS:
            there = [each for each in mine if each.dayID == number]
            of_day = next((each for each in days["days"] if each["dayID"] == number), {"vertical": 0, "lifts": []})
            assert of_day["vertical"] == 10 * sum(each.liftID for each in there)
            one = good(get(skiers.lifts, seasonID=season, dayID=number, skierID=skier))
            assert one["lifts"] == of_day["lifts"]
            assert Counter(one["lifts"]) == Counter(each.liftID for each in there)
            assert [each["time"] for each in one["rides"]] == [each.time for each in there]
            for resort in RESORTS:
                path = {"resortID": resort, "seasonID": season, "dayID": number, "skierID": skier}
                assert good(get(skiers.day_vertical, **path)) == 10 * sum(
                    each.liftID for each in there if each.resortID == resort
                )


def standing(sent: Iterable[Sent], taken_back: Iterable[Sent]) -> set[Known]:
    """The rides that were ``sent``, without those ``taken_back``."""
    return {each for each, is_back in sent if not is_back} - {each for each, is_back in taken_back if is_back}


def body(known: Known) -> dict[str, Any]:
    fields = known._asdict()
    del fields["sender"]
    return {name: value for name, value in fields.items() if value is not None}


def totals(rides: Iterable[Known]) -> dict[tuple[int, str], int]:
    found: Counter[tuple[int, str]] = Counter()
    for each in rides:
        found[each.resortID, str(each.seasonID)] += 10 * each.liftID
    return dict(found)


def good(answer: tuple[int, Any]) -> Any:
    assert answer[0] == 200, answer
    return answer[1]


@given(STEPS)
def test_p9_every_answer_equals_that_of_a_list_of_rides(steps: list[tuple[str, Any]]) -> None:
    """P9, P10, fault 14: duplicates, reorderings, redrives, an index that lags, a cache that is lost or unavailable."""
    model = SkiModel()
    model.world.index.lag = 1.0
    for name, what in steps:
        getattr(model, name)(what)

    model.finish()
    model.check_days()
    model.check_all_rides()
    model.check_skiers()
    model.world.clock.advance(LAG / 1000)
    model.check_days()
    reads = model.world.index.reads
    model.check_days()

    assert model.world.index.reads == reads, "confirmed counts are not read from the table again"
