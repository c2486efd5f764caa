"""What the results of all workers make of a run: the exit code, the lines, and the reason of a limit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from loadtest.checker.checker import SendCounts
from loadtest.checker.findings import FAULTS, Findings
from loadtest.measured.measurements import Measurements
from loadtest.runs.outcome import Outcome
from loadtest.runs.phase_run import failed_part
from loadtest.runs.place import Place
from loadtest.runs.result import RunResult
from loadtest.shapes.catalog import SHAPES
from loadtest.shapes.shape import Limit, Shape

FRAMES = SHAPES["frames"]


def part(worker: int = 0, *, events: int = 10, **changes: Any) -> dict[str, Any]:
    """A worker's result: everything was accepted in the main lane and read back, 20 ms after it was sent."""
    measurements = Measurements()
    measurements.record("ack", changes.pop("ack", 0.02), events)
    sent = SendCounts().counts(events, events, 0) | {"lanes": {"main": events}} | changes.pop("sent", {})
    found = Findings(events).counts() | changes.pop("found", {})
    made = failed_part(Place("r", 0, True, worker), "") | {"problems": [], "seconds": 1.0, "users": 4}
    made |= {"measurements": measurements.message(), "sent": sent, "found": found, "readable_after": 2.0}
    return json.loads(json.dumps(made | changes))  # type: ignore[no-any-return]


def result(*parts: dict[str, Any], shape: Shape = FRAMES, workers: int | None = None) -> RunResult:
    """A run whose phases all end with ``parts``."""
    made = RunResult(shape)
    made.outcomes = [Outcome(phase, parts, workers or len(parts)) for phase in shape.phases]
    return made


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_one_worker_fails_the_run(fault: str) -> None:
    made = result(part(0), part(1, found={fault: 1}))

    assert (made.exit_code, made.partial) == (1, False)


def test_events_that_the_lanes_still_hold_are_named_waiting_and_not_lost() -> None:
    text = result(part(found={"stored": 7, "waiting": 3})).text()

    assert "  3 accepted events are not stored yet: the lanes still hold as many" in text
    assert "accepted=10 stored=7 waiting=3 lost=0 unexpected=0" in text.splitlines()[-1]


def test_an_event_that_was_not_accepted_fails_the_run() -> None:
    assert result(part(sent={"attempted": 11})).exit_code == 1


@pytest.mark.parametrize(("shape", "events", "code"), [("frames", 95, 1), ("endurance", 95, 0), ("endurance", 94, 1)])
def test_unsent_events_fail_a_run_with_a_number_and_beyond_a_twentieth_one_with_a_rate(
    shape: str, events: int, code: int
) -> None:
    assert result(part(events=events, unsent=100 - events), shape=SHAPES[shape]).exit_code == code


def test_a_failed_question_fails_the_run() -> None:
    measurements = Measurements()
    measurements.count("failed unavailable")

    assert result(part(measurements=measurements.message()), shape=SHAPES["mixed"]).exit_code == 1


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([part(0), failed_part(Place("r", 0, True, 1), "no token")], "  no token"),
        ([part(0)], "  1 of 2 workers sent no result"),
        ([], "  2 of 2 workers sent no result"),
        ([part(0), part(1, interrupted=True)], "  partial: interrupted after 1.0 s"),
    ],
)
def test_a_run_that_not_all_workers_finished_is_partial(parts: Sequence[dict[str, Any]], sentence: str) -> None:
    made = result(*parts, workers=2)

    assert (made.partial, made.exit_code) == (True, 1)
    assert made.text().startswith("partial: the run did not reach its end")
    assert sentence in made.text().splitlines()


def test_a_run_that_did_not_play_all_phases_is_partial() -> None:
    made = result(part())
    made.outcomes.pop()

    assert (made.partial, made.exit_code) == (True, 1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"ack": 1.5}, "acks p99=1500ms, over 1000ms"),
        ({"sent": {"lanes": {"main": 9, "retry": 1}}}, "1 events took the retry lane"),
        ({"unsent": 1}, "1 of 11 events were not sent in time"),
        ({"found": {"lost": 1}}, "the checker found a fault"),
        ({"found": {"waiting": 1}}, "1 events are not stored yet"),
        ({"sent": {"accepted": 9}}, "not everything was accepted"),
    ],
)
def test_the_limit_is_where_latency_retry_lane_or_checker_say_stop(changes: dict[str, Any], reason: str) -> None:
    limit = Limit(2.0, 10, 1.0)
    made = result(part(**changes), shape=replace(SHAPES["limit"], limit=limit))

    assert made.outcomes[0].too_much(limit) == reason
    assert made.exit_code == (1 if "found" in changes else 0)
