from __future__ import annotations

import json

import pytest

from headrace.observe import Meter, Quiet


def test_repeated_reports_are_let_through_once_in_five_seconds_with_their_count() -> None:
    now = 0.0
    quiet = Quiet(monotonic=lambda: now)

    first = [quiet.pass_count("cut") for _ in range(10)]
    now = 5.0

    assert first == [1] + [0] * 9
    assert quiet.pass_count("cut") == 10
    assert quiet.pass_count("other") == 1


def test_kinds_are_bounded() -> None:
    quiet = Quiet()

    assert all(quiet.pass_count(str(number)) == 1 for number in range(10_000))


def test_counts_become_one_metric_line_per_set_of_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter()
    meter.count("Accepted", 2, stream="chat", lane="main")
    meter.count("Accepted", 1, stream="chat", lane="main")
    meter.count("Accepted", 1, stream="chat", lane="retry")
    meter.count("Refused", 0, stream="chat")

    meter.flush()

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted((line["lane"], line["Accepted"]) for line in lines) == [("main", [3.0]), ("retry", [1.0])]
    assert all(line["stream"] == "chat" for line in lines)
    assert meter.counts == {}
