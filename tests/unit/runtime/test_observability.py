"""Logs have correlation ids, repeated warnings are counted, and metrics are written in CloudWatch's format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from uuid import uuid4

import pytest
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from aws_lambda_powertools.metrics.functions import is_metrics_disabled

from headrace.runtime import observability
from headrace.runtime.observability import NAMESPACE, LogThrottle, Meter
from headrace.runtime.settings import ObserveSettings


def test_repeated_reports_are_let_through_once_in_five_seconds_with_their_count() -> None:
    now = 0.0
    quiet = LogThrottle(monotonic=lambda: now)

    first = [quiet.pass_count("cut") for _ in range(10)]
    now = 5.0

    assert first == [1] + [0] * 9
    assert quiet.pass_count("cut") == 10
    assert quiet.pass_count("other") == 1


def test_kinds_are_bounded() -> None:
    quiet = LogThrottle()

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
    assert meter.lines == {}


def test_a_line_stays_whole_in_lambda_whatever_ids_a_sender_chooses(capsys: pytest.CaptureFixture[str]) -> None:
    """Lambda splits a long line, and a split line counts nothing: a sender could hide from ``Accepted``."""
    meter = Meter()
    ids = {f"{number:03}" + "\N{GRINNING FACE}" * 125: 1 for number in range(500)}
    for field in ("ids", "requests"):
        meter.trace(field, ids, stream="chat", lane="main")
    meter.count("Accepted", 500, stream="chat", lane="main")
    for name in ("PublishSeconds", "ConfirmSeconds", "StoreSeconds", "WaitSeconds"):
        for number in range(100):
            meter.measure(name, 1 / (number + 3), MetricUnit.Seconds, stream="chat", lane="main")

    meter.flush()

    (line,) = capsys.readouterr().out.splitlines()
    assert len(line.encode()) <= 64 * 1024
    assert json.loads(line)["Accepted"] == [500.0]
    assert len(json.loads(line)["ids"]) > 20


def test_the_ids_of_a_batch_of_usual_ids_are_all_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter()
    meter.trace("ids", {str(uuid4()): 1 for _ in range(500)}, stream="chat")
    meter.count("Accepted", 500, stream="chat")

    meter.flush()

    assert len(json.loads(capsys.readouterr().out)["ids"]) == 500


def test_measured_values_are_written_separately_including_zero(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter()
    for seconds in (0, 0.2, 3):
        meter.measure("ProbeSeconds", seconds, MetricUnit.Seconds, queue="persist.chat.0")

    meter.flush()
    meter.flush()

    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (line["queue"], line["ProbeSeconds"]) == ("persist.chat.0", [0.0, 0.2, 3.0])


def test_a_line_is_what_powertools_itself_would_write(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ObserveSettings.read()
    theirs = EphemeralMetrics(namespace=NAMESPACE, service=settings.powertools_service_name)
    theirs.add_dimension("stream", "chat")
    theirs.add_metric("Accepted", MetricUnit.Count, 3)
    theirs.flush_metrics()
    meter = Meter()
    meter.count("Accepted", 3, stream="chat")

    meter.flush()

    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for line in written:
        del line["_aws"]["Timestamp"]
    assert written[0] == written[1]


def test_more_values_than_a_line_takes_are_written_in_several(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter()
    for number in range(250):
        meter.measure("ProbeSeconds", number, MetricUnit.Seconds)

    meter.flush()

    lines = [json.loads(line)["ProbeSeconds"] for line in capsys.readouterr().out.splitlines()]
    assert sorted(len(values) for values in lines) == [50, 100, 100]
    assert sorted(value for values in lines for value in values) == list(range(250))


def test_metrics_can_be_switched_off_as_powertools_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "true")
    monkeypatch.setattr(observability, "_is_disabled", is_metrics_disabled)
    meter = Meter()
    meter.count("Accepted")

    meter.flush()

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("level", "shown"), [("WARN", ["metric", "warning"]), ("INFO", ["info", "metric", "warning"])])
def test_a_log_level_hides_lines_and_no_metric(level: str, shown: list[str]) -> None:
    """On Lambda, Powertools alone would take Lambda's level, which is INFO."""
    code = """
from headrace.runtime.observability import Meter, logger
logger.info("info")
logger.warning("warning")
meter = Meter()
meter.count("metric")
meter.flush()
"""
    levels = {"AWS_LAMBDA_LOG_LEVEL": "INFO", "POWERTOOLS_LOG_LEVEL": level}
    environ = {**os.environ, **levels, "PYTHONPATH": os.pathsep.join(sys.path)}
    lines = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    found = [json.loads(line) for line in lines]
    assert sorted(one.get("message", "metric") for one in found) == shown
