"""A run in phases: what the conductor tells the workers, and what it makes of their results."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from loadtest.measured.measurements import Measurements
from loadtest.runs.conductor import INTERRUPT, PHASE, Conductor
from loadtest.runs.phase_run import failed_part
from loadtest.runs.place import Place
from loadtest.runs.work import FAULTS, Findings, Sent
from loadtest.samples.recording import nothing
from loadtest.shapes.catalog import SHAPES
from loadtest.shapes.shape import Limit, Phase, Shape

Part = dict[str, Any]
FRAMES = SHAPES["frames"]
ENDURANCE = SHAPES["endurance"]


def part(place: Place, *, events: int = 10, **changes: Any) -> Part:
    """A worker's result: everything was accepted in the main lane and read back, 20 ms after it was sent."""
    measurements = Measurements()
    measurements.record("ack", changes.pop("ack", 0.02), events)
    sent = asdict(Sent(events, events, 0, {"main": events}, {}, {})) | changes.pop("sent", {})
    found = asdict(Findings(events, 0, 0, at=1.0)) | changes.pop("found", {})
    made = failed_part(place, "") | {"problems": [], "seconds": 1.0, "readable_after": 2.0, "users": 4}
    made |= {"measurements": measurements.message(), "sent": sent, "found": found, "final": True}
    return made | changes


class Workers:
    """Answers as workers do. ``play`` makes the result of a worker; None: it sends none."""

    def __init__(self, shape: Shape, workers: int, play: Callable[[Phase, Place], Part | None]) -> None:
        self.alive = workers
        self.interrupts = 0
        self._play = play
        self.conductor = Conductor(shape, self.send, lambda: self.alive, lambda _: None)

    def send(self, kind: str, message: Mapping[str, Any]) -> None:
        if kind == INTERRUPT:
            self.interrupts += 1
            return
        assert kind == PHASE
        message = json.loads(json.dumps(message))
        for worker in range(message["place"]["workers"]):
            made = self._play(Phase.of_message(message["phase"]), Place.of_message(message["place"], worker))
            if made is not None:
                self.conductor.take(json.loads(json.dumps(made)))


def conducted(shape: Shape, play: Callable[[Phase, Place], Part | None], workers: int = 2) -> Conductor:
    running = Workers(shape, workers, play)
    running.conductor.conduct()
    return running.conductor


def test_the_results_of_all_workers_and_phases_make_one() -> None:
    conductor = conducted(FRAMES, lambda _, place: part(place))

    assert (conductor.exit_code, conductor.partial) == (0, False)
    assert [(each.sent("accepted"), each.found("stored")) for each in conductor.outcomes] == [(20, 20), (20, 20)]
    lines = conductor.text(Path("run.json")).splitlines()
    assert lines[-1].startswith("accepted=20 stored=20 lost=0 unexpected=0 duplicated=0 acks p50=20ms p99=20ms")
    assert lines[0] == "result: run.json"


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_one_worker_fails_the_run(fault: str) -> None:
    conductor = conducted(
        FRAMES, lambda _, place: part(place, found={fault: 1} if place.worker == 1 and place.number == 0 else {})
    )

    assert (conductor.exit_code, conductor.partial) == (1, False)


def test_events_that_the_lanes_still_hold_are_named_waiting_and_not_lost() -> None:
    conductor = conducted(FRAMES, lambda _, place: part(place, found={"stored": 7, "waiting": 3}), workers=1)

    text = conductor.text(Path("run.json"))
    assert "  3 accepted events are not stored yet: the lanes still hold as many" in text
    assert "accepted=10 stored=7 waiting=3 lost=0 unexpected=0" in text.splitlines()[-1]


def test_an_event_that_was_not_accepted_fails_the_run() -> None:
    conductor = conducted(FRAMES, lambda _, place: part(place, sent={"attempted": 11}))

    assert conductor.exit_code == 1


def test_events_that_were_not_sent_fail_a_run_with_a_number_and_beyond_a_twentieth_one_with_a_rate() -> None:
    def late(_: Phase, place: Place) -> Part:
        return part(place, events=95, unsent=5)

    def too_late(_: Phase, place: Place) -> Part:
        return part(place, events=94, unsent=6)

    assert conducted(FRAMES, late).exit_code == 1
    assert conducted(ENDURANCE, late).exit_code == 0
    assert conducted(ENDURANCE, too_late).exit_code == 1


def test_a_failed_question_fails_the_run() -> None:
    def failing(_: Phase, place: Place) -> Part:
        measurements = Measurements()
        measurements.count("failed unavailable")
        return part(place, measurements=measurements.message())

    assert conducted(SHAPES["mixed"], failing).exit_code == 1


def test_a_problem_of_one_worker_ends_the_run_as_partial() -> None:
    def play(_: Phase, place: Place) -> Part:
        return part(place) if place.worker else failed_part(place, "no token") | {"final": True}

    conductor = conducted(FRAMES, play)

    assert (len(conductor.outcomes), conductor.partial, conductor.exit_code) == (1, True, 1)
    text = conductor.text(Path("run.json"))
    assert text.startswith("partial: the run did not reach its end")
    assert "  no token" in text


def test_a_worker_that_is_gone_does_not_stop_the_others_result() -> None:
    workers = Workers(FRAMES, 2, lambda _, place: part(place) if place.worker == 0 else None)

    conducting = threading.Thread(target=workers.conductor.conduct)
    conducting.start()
    workers.alive = 1
    conducting.join(10)

    (outcome,) = workers.conductor.outcomes
    assert not conducting.is_alive()
    assert outcome.problems == ["1 of 2 workers sent no result"]
    assert (outcome.sent("accepted"), workers.conductor.exit_code) == (10, 1)


def test_a_run_whose_workers_are_all_gone_ends() -> None:
    workers = Workers(FRAMES, 2, lambda _, place: None)

    conducting = threading.Thread(target=workers.conductor.conduct)
    conducting.start()
    workers.alive = 0
    conducting.join(10)

    assert not conducting.is_alive()
    assert workers.conductor.outcomes[0].problems == ["2 of 2 workers sent no result"]
    assert workers.conductor.partial


def test_an_interrupted_run_has_the_result_so_far_and_says_that_it_is_partial(tmp_path: Path) -> None:
    begun = threading.Event()

    def play(_: Phase, place: Place) -> None:
        begun.set()

    workers = Workers(FRAMES, 1, play)
    conductor = workers.conductor
    conducting = threading.Thread(target=conductor.conduct)
    conducting.start()
    assert begun.wait(10)

    conductor.interrupt()
    place = Place(conductor.run_name, 0)
    conductor.take(part(place, found={}, interrupted=True, final=False) | {"found": None})
    before = json.loads(conductor.write(tmp_path, nothing("none")).read_text())
    conductor.take(part(place, interrupted=True))
    conducting.join(10)
    after = json.loads(conductor.write(tmp_path, nothing("none")).read_text())

    assert workers.interrupts == 1
    assert (before["partial"], after["partial"], len(after["phases"])) == (True, True, 1)
    assert before["phases"][0]["found"] is None
    assert after["phases"][0]["found"]["stored"] == 10
    assert before["phases"][0]["sent"]["accepted"] == 10
    assert conductor.exit_code == 1
    assert "partial: interrupted after 1.0 s" in conductor.text(tmp_path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ack": 1.5}, "acks p99=1500ms, over 1000ms"),
        ({"sent": {"lanes": {"main": 9, "retry": 1}}}, "1 events took the retry lane"),
        ({"unsent": 1}, "1 of 11 events were not sent in time"),
        ({"found": {"lost": 1}}, "the checker found a fault"),
        ({"found": {"waiting": 1}}, "1 events are not stored yet"),
        ({"sent": {"accepted": 9}}, "not everything was accepted"),
    ],
)
def test_the_limit_is_where_latency_retry_lane_or_checker_say_stop(changes: dict[str, Any], reason: str) -> None:
    shape = replace(SHAPES["limit"], limit=Limit(2.0, 10, 1.0))

    conductor = conducted(shape, lambda _, place: part(place, **(changes if place.number == 2 else {})), workers=1)

    assert conductor.verdict == f"limit: 800/s is too much: {reason}"
    assert conductor.exit_code == (1 if "found" in changes else 0)


def test_a_limit_that_is_not_reached_ends_after_its_steps() -> None:
    conductor = conducted(replace(SHAPES["limit"], limit=Limit(2.0, 3, 1.0)), lambda _, place: part(place))

    assert (len(conductor.outcomes), conductor.verdict, conductor.exit_code) == (3, "", 0)


def test_only_the_last_phase_that_sends_checks_all_counts() -> None:
    last: list[tuple[str, bool]] = []

    def play(phase: Phase, place: Place) -> Part:
        last.append((phase.name, place.last))
        return part(place)

    conducted(SHAPES["ads"], play, workers=1)

    assert last == [("single clicks", False), ("batches of 100", True), ("questions", True)]


def test_two_runs_of_the_same_second_have_different_names() -> None:
    names = {Workers(FRAMES, 1, lambda _, place: part(place)).conductor.run_name for _ in range(5)}

    assert len(names) == 5


def test_the_shares_of_all_workers_are_everything() -> None:
    places = [Place("run", 0, True, worker, 3) for worker in range(3)]

    assert sum(place.share(500) for place in places) == 500
    assert len({place.unique for place in places}) == 3
