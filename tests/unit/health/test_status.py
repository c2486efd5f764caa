"""The status shows lanes, breakers and probes, also while some of them are unavailable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.core import times
from headrace.core.errors import CacheUnavailable, ConnectionLost, RetryLaneUnavailable, StoreUnavailable
from headrace.core.times import Clock
from headrace.health.breaker_status import BreakerRecord
from headrace.health.parts import Parts
from headrace.health.status import ASK_SECONDS, KEPT_SECONDS, PROBE_LATE_SECONDS, StatusBody, describe, read_status
from headrace.queues.ports import QueueDepth
from tests.fakes.clock import FixedClock
from tests.worlds.functions import routes_of
from tests.worlds.senders import CLOCK, NOW

CONSUMED = QueueDepth(ready=3, consumers=1)
QUEUES = {"persist.chat.0": CONSUMED, "persist.chat.1": CONSUMED, "parked": QueueDepth(0, 0)}
NOTHING = {"waiting": 0, "inFlight": 0, "delayed": 0}
ROUTES = routes_of("read_status")
MODEL: TypeAdapter[Any] = TypeAdapter(ROUTES["GET /status"].answer)
RECENT = "2025-11-21T10:00:00.000000Z"


def breaker(state: str, name: str = "broker") -> BreakerRecord:
    return BreakerRecord(name, "ReceiveFrame", "stream", state, NOW, NOW)  # type: ignore[arg-type]


def fails(error: Exception) -> Callable[[], Any]:
    def ask() -> Any:
        raise error

    return ask


def status(clock: Clock = CLOCK, seconds: float = ASK_SECONDS, **asks: Any) -> Parts:
    """A healthy status, except for the named values; each is a value or a function that returns it."""
    well: Mapping[str, Any] = {
        "queues": QUEUES,
        "retry": NOTHING,
        "dead": NOTHING,
        "breakers": [],
        "probes": {"persist.chat.0": RECENT, "persist.chat.1": RECENT},
    }
    each = {name: asks.get(name, value) for name, value in well.items()}
    ways = {name: ask if callable(ask) else lambda ask=ask: ask for name, ask in each.items()}
    return Parts(ways, clock, seconds, KEPT_SECONDS)


def shown(parts: Parts) -> StatusBody:
    return read_status(parts, None)  # type: ignore[arg-type]


def body(**asks: Any) -> Any:
    """The body, which has the fields that its route declares."""
    found: Any = shown(status(**asks))
    assert MODEL.dump_python(MODEL.validate_python(found)) == found
    return found


def test_the_status_of_a_healthy_stage_is_ok_in_every_field() -> None:
    assert body() == {
        "time": NOW,
        "accepting": "main",
        "lanes": {
            "main": {
                "state": "ok",
                "queues": {
                    "persist.chat.0": {"ready": 3, "consumers": 1},
                    "persist.chat.1": {"ready": 3, "consumers": 1},
                },
            },
            "retry": {"state": "empty", **NOTHING},
            "dead": {"state": "empty", **NOTHING},
            "parked": {"state": "empty", "ready": 0},
        },
        "breakers": {"state": "ok", "environments": []},
        "probes": {
            "state": "ok",
            "queues": {
                "persist.chat.0": {"state": "ok", "newest": RECENT, "ageSeconds": 58},
                "persist.chat.1": {"state": "ok", "newest": RECENT, "ageSeconds": 58},
            },
        },
    }


def test_without_the_broker_events_are_accepted_by_the_retry_lane() -> None:
    found = body(queues=fails(ConnectionLost("the broker is unavailable: ConnectionRefusedError")))

    assert found["lanes"]["main"] == {"state": "away", "reason": "the broker is unavailable: ConnectionRefusedError"}
    assert found["lanes"]["parked"]["state"] == "unknown"
    assert found["accepting"] == "retry"


def test_with_both_lanes_unavailable_no_lane_accepts_events() -> None:
    found = body(queues=fails(ConnectionLost("down")), retry=fails(RetryLaneUnavailable("no answer")))

    assert found["accepting"] == "unknown"
    assert found["lanes"]["retry"] == {"state": "unknown", "reason": "no answer"}


@pytest.mark.parametrize(
    ("asks", "reason"),
    [
        ({"queues": {**QUEUES, "persist.chat.1": "there is no such queue"}}, "persist.chat.1: there is no such queue"),
        ({"queues": {**QUEUES, "persist.chat.0": QueueDepth(9, 0)}}, "persist.chat.0: it has no consumer"),
        ({"breakers": [breaker("open"), breaker("closed")]}, "the broker's breaker is not closed in 1 environments"),
    ],
)
def test_an_incomplete_main_lane_is_reported_with_its_reason(asks: dict[str, Any], reason: str) -> None:
    found = body(**asks)["lanes"]["main"]

    assert (found["state"], found["reason"]) == ("degraded", reason)


def test_the_status_has_the_number_of_records_in_a_lane() -> None:
    found = body(dead={**NOTHING, "waiting": 2}, queues={**QUEUES, "parked": QueueDepth(1, 0)})["lanes"]

    assert found["dead"] == {"state": "holding", "waiting": 2, "inFlight": 0, "delayed": 0}
    assert found["parked"] == {"state": "holding", "ready": 1}


def test_breakers_of_tables_are_listed_and_leave_the_main_lane_as_it_is() -> None:
    found = body(breakers=[breaker("half_open", "ChatMessages")])

    assert found["lanes"]["main"]["state"] == "ok"
    assert found["breakers"]["state"] == "open"
    assert found["breakers"]["environments"][0]["breaker"] == "ChatMessages"


@pytest.mark.parametrize(
    ("newest", "state"),
    [
        (None, "none yet"),
        (times.iso(CLOCK.now() - PROBE_LATE_SECONDS * times.SECOND), "ok"),
        (times.iso(CLOCK.now() - (PROBE_LATE_SECONDS + 1) * times.SECOND), "missing"),
    ],
)
def test_a_probe_not_seen_for_two_minutes_is_missing(newest: str | None, state: str) -> None:
    found = body(probes={"persist.chat.0": RECENT, "persist.chat.1": newest})["probes"]

    assert (found["state"], found["queues"]["persist.chat.0"]["state"]) == (state, "ok")


@pytest.mark.parametrize(
    ("part", "where"),
    [("retry", "lanes"), ("dead", "lanes"), ("breakers", ""), ("probes", "")],
)
@pytest.mark.parametrize(
    ("error", "reason"),
    [(CacheUnavailable("it is down"), "it is down"), (StoreUnavailable("down"), "down"), (KeyError("x"), "KeyError")],
)
def test_an_unavailable_value_is_unknown_with_its_reason(part: str, where: str, error: Exception, reason: str) -> None:
    """The other values are shown."""
    well, found = body(), body(**{part: fails(error)})

    inside = found[where] if where else found
    assert inside.pop(part) == {"state": "unknown", "reason": reason}
    (well[where] if where else well).pop(part)
    assert found == well


def test_a_stage_that_sends_no_probes_says_so() -> None:
    found = describe(CLOCK.now(), QUEUES, NOTHING, NOTHING, [])

    assert found["probes"] == {"state": "unknown", "reason": "this stage sends no probes"}


def test_a_value_that_hangs_is_unknown_and_is_requested_only_once() -> None:
    """Its work is bounded for any number of requests, and a late answer is not used for a later request."""
    go_on = threading.Event()
    asked: list[threading.Event] = []

    def hangs_at_first() -> list[BreakerRecord]:
        asked.append(threading.Event())
        if len(asked) == 1:
            go_on.wait(30)
        asked[-1].set()
        return [breaker("open")] if len(asked) == 1 else []

    clock = FixedClock(NOW)
    hanging = status(clock, 0.5, breakers=hangs_at_first)
    states = []
    for _ in range(3):
        states.append(shown(hanging)["breakers"])
        clock.advance(KEPT_SECONDS + 1)

    assert states == [
        {"state": "unknown", "reason": "no answer within 0.5 s"},
        {"state": "unknown", "reason": "an earlier request is not answered yet"},
        {"state": "unknown", "reason": "an earlier request is not answered yet"},
    ]
    assert len(asked) == 1
    assert shown(hanging)["accepting"] == "main"

    go_on.set()
    while hanging._hanging["breakers"].running():
        asked[0].wait(30)
    clock.advance(KEPT_SECONDS + 1)
    assert shown(hanging)["breakers"] == {"state": "ok", "environments": []}


@pytest.mark.parametrize(("seconds", "times_asked"), [(KEPT_SECONDS, 1), (KEPT_SECONDS + 0.1, 2), (-60, 2)])
def test_an_answer_is_cached_for_two_seconds_even_if_the_clock_goes_back(seconds: float, times_asked: int) -> None:
    asked: list[int] = []
    clock = FixedClock(NOW)
    kept = status(clock, breakers=lambda: asked.append(1) or [])

    shown(kept)
    clock.advance(seconds)
    shown(kept)

    assert len(asked) == times_asked


TWO = {**QUEUES, **{f"{name} of broker 2": depth for name, depth in QUEUES.items()}, "parked": QueueDepth(2, 0)}


def test_the_queues_of_two_brokers_are_shown_and_their_parked_messages_added_up() -> None:
    lanes = body(queues=TWO)["lanes"]

    assert (lanes["main"]["state"], lanes["parked"]) == ("ok", {"state": "holding", "ready": 2})
    assert lanes["main"]["queues"].keys() == {name for name in TWO if not name.startswith("parked")}


def test_a_lost_broker_is_named_while_the_other_one_takes_events() -> None:
    found = body(queues={**QUEUES, "broker 2": "the broker is unavailable: ConnectionRefusedError"})

    main, parked = found["lanes"]["main"], found["lanes"]["parked"]
    assert (found["accepting"], main["state"]) == ("main", "degraded")
    assert main["reason"] == "broker 2: the broker is unavailable: ConnectionRefusedError"
    assert parked == {"state": "unknown", "reason": "the broker is unavailable: ConnectionRefusedError"}
