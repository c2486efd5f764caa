"""Every shape of load runs at a tiny scale against a whole stage, and loses nothing."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from loadtest.checker.findings import FAULTS
from loadtest.report.tables import comparison
from loadtest.samples.sampler import HELD
from loadtest.shapes.catalog import SHAPES, of_stream
from tests.e2e.conftest import ROOT, RunningStage

pytestmark = pytest.mark.timeout(240)

AT_ONCE = 2
"""Runs at the same time: some of them wait most of the time until counts are complete. The last of ``SHORT`` finds warm
functions, which its rate needs."""
SHORT = {"mixed", "rides", "clicks", "doors"}
"""The shapes of ``make test``: each stream, posts and questions. The others are marked long; a page of
the docs runs "frames"."""
SIZES = {
    "frames": ["--scale", "0.002"],
    "baseline": ["--scale", "0.0005"],
    "stress": ["--scale", "0.0003"],
    "endurance": ["--scale", "0.05", "--seconds", "3"],
    "singles": ["--scale", "0.05", "--seconds", "3"],
    "mixed": ["--scale", "0.1", "--seconds", "3"],
    "spike": ["--scale", "0.05", "--seconds", "4"],
    "hot-room": ["--scale", "0.01", "--seconds", "2"],
    "limit": ["--scale", "0.05", "--seconds", "1"],
    "ski": ["--scale", "0.0002"],
    "backlog": ["--scale", "0.005"],
    "ads": ["--scale", "0.01", "--seconds", "2"],
    "rides": ["--messages", "500"],
    "clicks": ["--scale", "0.1", "--seconds", "2"],
    "doors": ["--messages", "500"],
}
ALL = {**SHAPES, "doors": of_stream("doors")}
"""The shapes, and that of a declared stream."""
DISTRIBUTED = {"stress"}


def run(stage: RunningStage, name: str, folder: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    command = [sys.executable, "-m", "loadtest.load", "--shape" if name in SHAPES else "--stream", name]
    command += [*SIZES[name], "--results", str(folder / name)]
    command += ["--requests", str(folder / f"{name}.csv")]
    command += ["--processes", "2"] if name in DISTRIBUTED else []
    urls = {"HTTP_URL": stage.where["http_url"], "WS_URL": stage.where["websocket_url"]}
    environ = {
        **os.environ,
        **urls,
        "TOKEN_URL": stage.where["token_url"],
        "LOCALSTAGE_STATE_DIR": str(stage.state_dir),
        "LOCALSTAGE_STREAMS": str(ROOT / "examples" / "streams"),
    }
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=110)
    (result,) = (folder / name).glob("*.json")
    with (folder / f"{name}.csv").open() as rows:
        return done, {**json.loads(result.read_text()), "requests": list(csv.DictReader(rows))}


@pytest.fixture(scope="module")
def runs(
    platform: RunningStage, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, Future[Any]]]:
    """The shapes of the tests that run, a few at a time; the ones that wait longest come first."""
    module = [each for each in request.session.items if each.path == request.path and hasattr(each, "callspec")]
    named = {each.callspec.params["name"] for each in module}
    wanted = [each for each in ALL if each in SHORT | named]
    folder = tmp_path_factory.mktemp("load")
    first = ["ski", "ads"]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        yield {
            name: threads.submit(run, platform, name, folder)
            for name in sorted(wanted, key=lambda each: each not in first)
        }


@pytest.mark.parametrize("name", [pytest.param(each, marks=() if each in SHORT else pytest.mark.long) for each in ALL])
def test_a_shape_loses_nothing_and_writes_its_result(name: str, runs: dict[str, Future[Any]]) -> None:
    done, result = runs[name].result()

    assert done.returncode == 0, done.stdout + done.stderr
    assert result["partial"] is False
    assert len(result["phases"]) >= min(2, len(ALL[name].phases))
    for phase in result["phases"]:
        sent, found = phase["sent"], phase["found"]
        assert sent["accepted"] == sent["attempted"] == found["stored"]
        assert not any(found[kind] for kind in FAULTS)
        assert not phase["examples"]  # nor anything that was not checked
        assert sum(second["counts"].get("accepted", 0) for second in phase["timeline"]) == sent["accepted"]
        assert sent["attempted"] or phase["counts"]["questions"]


def test_the_questions_of_the_mixed_shape_are_all_measured(runs: dict[str, Future[Any]]) -> None:
    _, result = runs["mixed"].result()
    latencies = result["phases"][-1]["latencies"]

    assert {"ack", "durable", "room history", "user history"} <= set(latencies)
    assert all(each["count"] and each["p50"] <= each["p99"] <= each["max"] for each in latencies.values())


def test_every_request_of_a_run_is_a_line_of_csv_with_the_columns_of_published_clients(
    runs: dict[str, Future[Any]],
) -> None:
    _, mixed = runs["mixed"].result()
    _, clicks = runs["clicks"].result()

    assert list(mixed["requests"][0]) == ["start_time_ms", "request_type", "latency_ms", "response_code"]
    found = {(each["request_type"], each["response_code"]) for each in mixed["requests"] + clicks["requests"]}
    assert found >= {("GET", "200"), ("POST", "202")}
    began = datetime.fromisoformat(clicks["began"]).timestamp() * 1000
    assert all(int(each["start_time_ms"]) >= began and float(each["latency_ms"]) > 0 for each in clicks["requests"])


def test_a_run_has_samples_of_the_stage_and_a_page_with_every_plot(runs: dict[str, Future[Any]]) -> None:
    done, result = runs["mixed"].result()
    (page,) = re.findall(r"^result: (.*\.html)$", done.stdout, re.M)
    plots = set(re.findall(r'role="img" aria-label="([^,]+),', Path(page).read_text()))
    samples, usage = result["samples"], result["phases"][-1]["usage"]

    assert samples["notes"] == []
    assert {"RabbitMQ", "Redis", "DynamoDB emulator", "PersistEvents", "load generator"} <= set(usage["cpuSeconds"])
    assert usage["memory"]["RabbitMQ"]["peak"] > 10_000_000
    assert set(usage["deepest"]) == {"main", HELD, "retry", "dead", "parking"}
    assert usage["functions"]["ReceiveFrame"]["invocations"] > 0
    assert usage["functions"]["PublishSeconds"]["mean"] > usage["functions"]["ConfirmSeconds"]["mean"] > 0
    assert any(name.startswith("Stored") for name in usage["counts"])
    # Not how many: a sample that lies across the ends of two phases gives each a part of its units.
    assert usage["units"]["ChatMessagesTable write"] > 0
    assert usage["units"]["ChatMessagesTable read"] > 0
    assert plots == {
        "Throughput", "Send to acknowledgement", "Send to readable", "Questions", "Depth of the queues", "CPU",
        "Memory", "Durations of functions and their calls", "Consumed capacity of DynamoDB",
    }  # fmt: skip
    compared = {row[0]: row[-1] for table in comparison(result, result) for row in table.rows}
    assert (compared["ack p99, ms"], compared["write units/event"]) == ("1.00×", "1.00×")
