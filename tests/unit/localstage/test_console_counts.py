"""What the console of the local stage reads from the logs of the functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from localstage.console.counts import SHOWN, STEP, STEPS, Counts

NOW = 1_795_387_400.0
"""A multiple of STEP, in epoch seconds."""


def metric(at: float, name: str, values: list[float], lane: str = "main", **more: Any) -> str:
    directive = {"Namespace": "Headrace", "Dimensions": [["lane", "stream"]], "Metrics": [{"Name": name}]}
    aws = {"Timestamp": round(at * 1000), "CloudWatchMetrics": [directive]}
    return json.dumps({"_aws": aws, "lane": lane, "stream": "chat", name: values, **more}) + "\n"


def test_sums_and_rates_are_by_lane_and_old_points_go(tmp_path: Path) -> None:
    now = NOW
    counts = Counts(tmp_path, lambda: now)
    log = tmp_path / "ReceiveHttp.log"
    log.write_text(metric(NOW - STEP, "Accepted", [2.0]) + metric(NOW, "Accepted", [3.0], "retry"))

    taken = counts.take()

    assert taken["sums"] == [["Accepted", "chat", "main", 2.0], ["Accepted", "chat", "retry", 3.0]]
    series = {tuple(row[:2]): row[2] for row in taken["series"]["rows"]}
    assert taken["series"]["start"] == NOW - (STEPS - 1) * STEP
    assert series["Accepted", "main"] == [*[0] * (STEPS - 2), 2.0, 0]
    assert series["Accepted", "retry"] == [*[0] * (STEPS - 1), 3.0]
    now += STEPS * STEP
    later = counts.take()
    assert (later["sums"], later["series"]["rows"]) == (taken["sums"], [])


def test_the_age_of_a_lane_is_the_longest_wait_of_its_events(tmp_path: Path) -> None:
    counts = Counts(tmp_path, lambda: NOW)
    waits = metric(NOW, "WaitSeconds", [0.2, 1.5]) + metric(NOW, "WaitSeconds", [0.7])
    (tmp_path / "PersistEvents.log").write_text(waits)

    ((name, lane, points),) = counts.take()["series"]["rows"]

    assert (name, lane, points[-1]) == ("WaitSeconds", "main", 1.5)


def test_the_newest_requests_are_named_by_their_first_event(tmp_path: Path) -> None:
    counts = Counts(tmp_path, lambda: NOW)
    lines = [metric(NOW, "Accepted", [2.0], ids={f"m-{n}": 1, "other": 1}) for n in range(SHOWN + 3)]
    (tmp_path / "ReceiveHttp.log").write_text("".join(lines))

    events = counts.take()["events"]

    assert len(events) == SHOWN
    assert events[0] == {"at": NOW * 1000, "id": f"m-{SHOWN + 2}", "stream": "chat", "lane": "main", "count": 2}
