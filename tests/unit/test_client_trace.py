"""`make trace` finds the way of an event in the logs of the local stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headrace_client.cli.commands import cli
from headrace_client.cli.trace import trace

START = 1_795_387_425_000
"""2026-11-22T22:43:45 in milliseconds."""


def metric(milliseconds: int, **content: Any) -> str:
    return json.dumps({"_aws": {"Timestamp": START + milliseconds}, "service": "headrace-local", **content})


def log(milliseconds: int, message: str, **content: Any) -> str:
    stamp = f"2026-11-22 22:43:45,{milliseconds:03}+0000"
    return json.dumps({"level": "WARNING", "message": message, "timestamp": stamp, **content})


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The logs of a stage whose table was unavailable for a moment, with another request in the same batch."""
    folder = tmp_path / "logs"
    folder.mkdir()
    accepted = metric(0, correlation_id="r-1=", stream="chat", lane="main", Accepted=[2.0], ids={"m-1": 1, "m-2": 1})
    foreign = metric(1, correlation_id="r-2=", stream="chat", lane="main", Accepted=[1.0], ids={"m-3": 1})
    (folder / "ReceiveHttp.log.1").write_text(f"START RequestId: x\n{accepted}\n")
    (folder / "ReceiveHttp.log").write_text(f"{foreign}\n" + '{"half": \n')
    batch = {"correlation_id": "invocation-1", "stream": "chat", "lane": "main"}
    persisted = [
        metric(20, **batch, Stored=[2.0], stored={"r-1=": 1, "r-2=": 1}, NotStored=[1.0], notStored={"r-1=": 1}),
        metric(21, correlation_id="invocation-1", HandedOver=[1.0], handedOver={"r-1=": 1}),
        log(19, "events are not stored yet: no answer", correlation_id="r-1=", kind="StoreUnavailable"),
        log(500, "a record of the retry lane is tried again", correlation_id="r-1=", attempt=2, level="INFO"),
        metric(510, correlation_id="r-1=", stream="chat", lane="retry", Stored=[1.0], stored={"r-1=": 1}),
        metric(600, correlation_id="r-2=", stream="chat", lane="retry", Stored=[1.0], stored={"r-2=": 1}),
    ]
    (folder / "PersistEvents.log").write_text("\n".join(persisted) + "\n")
    copies = {"correlation_id": "invocation-1", "copies": {"invocation-1": 1}}
    pushed = [
        metric(40, **copies, verdict=verdict, LivePushed=n) for verdict, n in [("sent", [2.0, 1.0]), ("gone", [1.0])]
    ]
    (folder / "PushLive.log").write_text("\n".join(pushed) + "\n")
    return folder


def test_the_audit_line_of_an_operators_discard_is_a_step(logs: Path) -> None:
    audit = log(700, "dead letters were discarded", level="INFO", correlation_id="r-9=", discarded=1, failed=0)
    (logs / "ManageDeadLetters.log").write_text(f"{audit}\n")

    assert [step.text for step in trace(logs, "r-9=")] == ["info: dead letters were discarded"]


WAY = [
    ("ReceiveHttp", "accepted 2 chat events, lane main"),
    ("PersistEvents", "warning: events are not stored yet: no answer"),
    ("PersistEvents", "stored 1 chat event, lane main"),
    ("PersistEvents", "not stored, to be tried again: 1 chat event, lane main"),
    ("PersistEvents", "sent to the retry lane: 1 event"),
    ("PushLive", "live copies of the batch: 3 sent"),
    ("PushLive", "live copies of the batch: 1 gone"),
    ("PersistEvents", "info: a record of the retry lane is tried again (attempt 2)"),
    ("PersistEvents", "stored 1 chat event, lane retry"),
]


@pytest.mark.parametrize("wanted", ["r-1=", "m-1", "m-2"])
def test_the_way_of_an_event_is_found_by_its_id_or_that_of_its_request(logs: Path, wanted: str) -> None:
    assert [(step.function, step.text) for step in trace(logs, wanted)] == WAY


def test_a_dead_event_is_shown_with_its_reason(logs: Path) -> None:
    with (logs / "PersistEvents.log").open("a") as file:
        file.write(metric(900, lane="retry", reason="not_json", Poison=[1.0], poison={"r-1=": 1}) + "\n")
        file.write(metric(901, stream="unknown", Dead=[1.0], dead={"r-1=": 1}) + "\n")

    assert [step.text for step in trace(logs, "r-1=")][-2:] == [
        "can never be stored: 1 event, lane retry, not_json",
        "dead: 1 unknown event",
    ]


def test_an_id_that_no_line_has_is_answered_with_what_an_id_is(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALSTAGE_STATE_DIR", str(logs.parent))

    result = CliRunner().invoke(cli, ["trace", "--", "-nope"])

    assert result.exit_code == 1
    assert result.output.startswith(f"headrace: no line in {logs} has '-nope'; give ID, the x-request-id")


def test_an_empty_id_is_answered_with_what_an_id_is(logs: Path) -> None:
    result = CliRunner().invoke(cli, ["trace", "--logs", str(logs), ""])

    assert result.exit_code == 1
    assert result.output.startswith("headrace: give ID, the x-request-id")


def test_an_event_of_the_main_lane_was_received_and_published_before_it_was_accepted(tmp_path: Path) -> None:
    took = {"PublishSeconds": [0.02], "ConfirmSeconds": [0.005]}
    accepted = metric(100, correlation_id="r-1=", stream="chat", lane="main", Accepted=[1.0], ids={"m-1": 1}, **took)
    (tmp_path / "ReceiveHttp.log").write_text(f"{accepted}\n")

    steps = [(round(step.at.timestamp() * 1000) - START, step.text) for step in trace(tmp_path, "m-1")]
    assert steps == [(80, "received"), (95, "published"), (100, "accepted 1 chat event, lane main")]
