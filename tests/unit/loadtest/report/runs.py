"""Results of load runs, made as a run makes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from loadtest.measured.measurements import Measurements
from loadtest.report.document import Document
from loadtest.runs.outcome import Outcome
from loadtest.runs.phase_run import failed_part
from loadtest.runs.place import Place
from loadtest.runs.result import RunResult
from loadtest.runs.work import Findings, Sent
from loadtest.samples.recording import Sample, columns
from loadtest.shapes.catalog import SHAPES
from tests.fakes.clock import Seconds

SECONDS = 30


def made_run(*, ack: float = 0.02, cpu: float = 0.5, **found: Any) -> Document:
    """A run of two phases of 30 s with 100 events and a question each second, sampled each second.

    ``ack`` in seconds; ``cpu`` is Redis's share of a core; ``found`` are changes of what was read back.
    """
    result = RunResult(SHAPES["frames"])
    for number, phase in enumerate(result.shape.phases):
        place = Place(result.name, number)
        began = result.began.timestamp() + 1 + number * (SECONDS + 2)
        result.outcomes.append(Outcome(phase, [_part(place, began, ack, found)], 1))
    document: Document = json.loads(json.dumps(result.document(_samples(result.began.timestamp(), cpu))))
    return document


def _part(place: Place, began: float, ack: float, found: Mapping[str, Any]) -> dict[str, Any]:
    clock = Seconds(0.0)
    measurements = Measurements(clock)
    for second in range(SECONDS):
        clock.now = second + 0.5
        measurements.record("ack", ack, 100)
        measurements.record("durable", 0.3)
        measurements.record("room history", 0.01)
        measurements.count("accepted", 100)
        measurements.count("questions")
    events = SECONDS * 100
    read = asdict(Findings(events, 0, 0, at=1.0))
    return failed_part(place, "") | {
        "problems": [],
        "measurements": measurements.message(),
        "sent": asdict(Sent(events, events, 0, {"main": events}, {}, {"unavailable": 7}, 3)),
        "found": read | found,
        "began": began,
        "seconds": float(SECONDS),
        "readable_after": SECONDS + 1.0,
        "users": 64,
        "final": True,
    }


def _samples(began: float, cpu: float) -> dict[str, Any]:
    taken: list[Sample] = []
    for second in range(2 * SECONDS + 6):
        values: dict[str, dict[str, float | None]] = {
            "cpu": {"Redis": cpu, "load generator": 0.1},
            "memory": {"Redis": 13e6, "load generator": 70e6},
            "depths": {"main": second, "retry": 2, "dead": 1, "parking": 0},
            "invocations": {"PersistEvents": 4.0},
            "busy": {"PersistEvents": 0.2},
            "longest": {"PersistEvents": 0.2},
            "counts": {"Stored main": 90.0, "Stored retry": 10.0},
            "units": {"RoomsTable read": 0.0, "ChatMessagesTable write": 300.0},
        }
        taken.append((began + second + 1, values))
    return columns(taken) | {"notes": []}
