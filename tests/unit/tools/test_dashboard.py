"""The picture of the dashboard has every widget of its template, with the numbers of the metrics that it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localstage.client.function_logs import NewLines
from tools.dashboard.definition import SERVICE, TEMPLATE, Selection, Widget, widgets
from tools.dashboard.picture import NO_LOCAL_NUMBER, svg
from tools.dashboard.recorder import Recorder
from tools.dashboard.recording import Recording, is_local

BEGAN = 1_795_392_360.0
"""The first second of the recording."""
BY_TITLE = {each.title: each for each in widgets()}


def metric(name: str, value: list[float], second: float = 0, **dimensions: str) -> str:
    """A metric line as functions write it."""
    dimensions["service"] = SERVICE
    directive = {
        "Namespace": "Headrace",
        "Dimensions": [list(dimensions)],
        "Metrics": [{"Name": name, "Unit": "Count"}],
    }
    stamp = int((BEGAN + second) * 1000)
    return json.dumps({"_aws": {"Timestamp": stamp, "CloudWatchMetrics": [directive]}, **dimensions, name: value})


def recorded(*lines: str) -> Recording:
    recorder = Recorder(BEGAN)
    for line in lines:
        recorder.line("PersistEvents", line, BEGAN)
    return recorder.recording(10)


def shown(title: str, recording: Recording) -> dict[str, dict[int, float]]:
    """The points of each series of a widget."""
    found = [series for line in BY_TITLE[title].lines for series in recording.series(line)]
    return {each.label: dict(each.points) for each in found}


def test_a_search_is_read_with_its_dimensions_filters_and_statistic() -> None:
    line = BY_TITLE["Stored per second"].lines[1]

    assert line == Selection(
        "Headrace", "Stored", frozenset({"lane", "service", "stream"}), {"service": SERVICE, "lane": "retry"},
        "Sum", 60, "retry lane", total=True, divisor=60,
    )  # fmt: skip


def test_a_metric_with_its_dimensions_is_read_with_its_own_period() -> None:
    line = BY_TITLE["Depth of the lanes"].lines[3]

    assert (line.namespace, line.name, line.statistic, line.period) == ("Headrace", "ParkedMessages", "Maximum", 300)


def test_an_expression_of_another_form_is_refused(tmp_path: Path) -> None:
    changed = tmp_path / "dashboard.yaml"
    changed.write_text(TEMPLATE.read_text().replace("SUM(SEARCH(", "AVG(SEARCH(", 1))

    with pytest.raises(ValueError, match=r"AVG\(SEARCH"):
        widgets(changed)


def test_a_sum_of_a_search_adds_all_streams_of_one_lane_per_second() -> None:
    recording = recorded(
        metric("Stored", [60.0], lane="main", stream="chat"),
        metric("Stored", [30.0, 30.0], 59, lane="main", stream="ski"),
        metric("Stored", [90.0], 60, lane="main", stream="ski"),
        metric("Stored", [600.0], lane="retry", stream="chat"),
        metric("Stored", [600.0], stream="chat"),
    )

    assert shown("Stored per second", recording) == {"main lane": {0: 2.0, 60: 1.5}, "retry lane": {0: 10.0}}


def test_a_search_has_a_series_for_each_metric_with_its_label_and_values() -> None:
    recording = recorded(
        metric("Refused", [2.0], code="invalid_event", stream="chat"),
        metric("Refused", [3.0], 1, code="invalid_event", stream="chat"),
        metric("Dead", [1.0], 61, stream="ski"),
    )

    assert shown("Refused and dead", recording) == {"invalid_event chat": {0: 5.0}, "dead ski": {60: 1.0}}


def test_a_period_of_five_minutes_takes_the_largest_of_its_minutes() -> None:
    recording = recorded(metric("UnreadQueues", [1.0], 60), metric("UnreadQueues", [3.0], 299))

    assert shown("Connections to the broker", recording) == {"unread queues": {0: 3.0}}


def test_durations_are_those_of_report_lines_as_the_99th_percentile() -> None:
    reports = [f"REPORT RequestId: {n}\tDuration: {n}.00 ms\tBilled Duration: {n} ms" for n in range(1, 201)]

    recording = recorded("START RequestId: 1 Version: $LATEST", '{"cut', *reports)

    assert shown("Duration of functions, p99", recording) == {f"{SERVICE}-PersistEvents": {0: 198.0}}


def test_errors_are_those_since_the_look_before() -> None:
    recorder = Recorder(BEGAN)
    for second, errors in enumerate((5, 5, 7, 8)):
        recorder.errors({"PushLive": {"errors": errors}}, BEGAN + second)

    assert shown("Errors of functions", recorder.recording(1)) == {f"{SERVICE}-PushLive": {0: 3.0}}


def test_depths_are_those_of_the_lanes_and_missing_while_one_is_unavailable() -> None:
    lanes: dict[str, Any] = {
        "main": {"state": "ok", "queues": {"persist.0": {"ready": 4}, "persist.1": {"ready": 3}}},
        "parked": {"state": "holding", "ready": 2},
        "retry": {"state": "holding", "waiting": 6, "inFlight": 1, "delayed": 1},
        "dead": {"state": "unknown", "reason": "no answer within 1.5 s"},
    }
    recorder = Recorder(BEGAN)
    recorder.depths(lanes, BEGAN)
    recorder.depths({**lanes, "main": {"state": "away"}, "parked": {"state": "away"}}, BEGAN + 60)

    found = shown("Depth of the lanes", recorder.recording(2))

    assert found == {"main lane": {0: 9.0}, "retry lane": {0: 6.0, 60: 6.0}}


def test_lines_are_read_once_also_after_a_rotation_and_only_when_complete(tmp_path: Path) -> None:
    log = tmp_path / "PushLive.log"
    log.write_text("before\n")
    new = NewLines(tmp_path)
    seen = []
    for text in ("before\none\ntw", "before\none\ntwo\n", "three\n"):
        log.write_text(text)
        seen.append([line for _, line in new.lines()])

    assert seen == [["one"], ["two"], ["three"]]


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    recording = recorded(metric("Stored", [1.0, 2.5], lane="main", stream="chat"), metric("ParkedMessages", [0.0], 120))
    recording.write(tmp_path / "recorded.json")

    assert Recording.read(tmp_path / "recorded.json") == recording


def test_every_widget_is_drawn_with_numbers_or_the_words_that_it_has_none() -> None:
    recording = Recording.read()
    drawn = svg(widgets(), recording)

    without = [each for each in BY_TITLE.values() if not any(map(is_local, each.lines))]
    assert all(f">{title}</text>" in drawn for title in BY_TITLE)
    assert drawn.count(f">{NO_LOCAL_NUMBER}</text>") == len(without)
    assert all(shown(title, recording) for title, each in BY_TITLE.items() if each not in without)


def test_a_widget_says_how_many_of_its_lines_have_no_local_number() -> None:
    drawn = svg([BY_TITLE["Connections to the broker"]], recorded(metric("UnreadQueues", [1.0])))

    assert f"{NO_LOCAL_NUMBER}: 2 more" in drawn
    assert ">unread queues</text>" in drawn


def test_of_many_series_the_largest_are_named_and_the_others_counted() -> None:
    refused = [metric("Refused", [float(n)], code=f"code-{n}", stream="chat") for n in range(1, 9)]

    drawn = svg([BY_TITLE["Refused and dead"]], recorded(*refused))

    assert [f"code-{n} chat" in drawn for n in range(1, 9)] == [False] * 3 + [True] * 5
    assert ">3 more</text>" in drawn


def test_a_metric_without_a_value_is_shown_as_an_empty_chart() -> None:
    widget = BY_TITLE["Live messages pushed"]

    assert ">no value</text>" in svg([widget], Recording("2026-11-23", 8))


def test_text_of_a_metric_cannot_change_the_picture() -> None:
    line = Selection("Headrace", "Stored", frozenset({"service"}), {"service": SERVICE}, "Sum", 60, "<b>")
    widget = Widget("a < b", 0, 0, 8, 6, "&", [line])

    drawn = svg([widget], recorded(metric("Stored", [1.0])))

    assert ">a &lt; b</text>" in drawn
    assert ">&amp;</text>" in drawn
    assert ">&lt;b&gt;</text>" in drawn
