"""The commands that look at a stage from outside, on a whole stage."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.e2e.clients import Client, message, unique, until
from tests.e2e.conftest import ROOT, RunningStage


def ops(stage: RunningStage, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environ = {**stage.environ, "PYTHONPATH": "layers/headrace", **environ}
    command = [sys.executable, "-m", "ops", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120)


def trace(stage: RunningStage, wanted: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-s", "trace", f"ID={wanted}"]
    return subprocess.run(command, cwd=ROOT, env=stage.environ, capture_output=True, text=True, timeout=120)


def test_without_a_second_user_the_doctor_withdraws_its_invitation(platform: RunningStage) -> None:
    where, alice = platform.where, Client(platform)

    result = ops(platform, "doctor", HTTP_URL=where["http_url"], WS_URL=where["websocket_url"], TOKEN=alice.token)

    assert "pass     invitation               invited and withdrawn" in result.stdout
    _, rooms, _ = alice.http("GET", f"/users/{alice.user}/rooms")
    assert rooms["items"] == []


def test_the_way_of_a_message_is_in_the_logs(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    sender, follower = alice.connect(), alice.connect()
    sender.request({"action": "sendMessage", **message(room)})
    alice.wait_for(room, 1)
    follower.send(json.dumps({"action": "subscribe", "roomId": room}))
    while follower.receive()["type"] != "subscribed":
        pass
    sent = message(room)
    ack = sender.request({"action": "sendMessage", **sent})
    while sent["messageId"] not in str(follower.receive()):
        pass

    # A function's log may be written a moment after the answer that it sent.
    by_request = until(
        lambda: trace(platform, ack["correlationId"]).stdout, lambda text: "accepted" in text and "live copies" in text
    )
    by_event = trace(platform, sent["messageId"]).stdout

    assert by_request == by_event
    steps = [line[14:] for line in by_request.splitlines()]
    assert steps[0] == "ReceiveFrame         received"
    assert "ReceiveFrame         accepted 1 chat event, lane main" in steps
    assert "PersistEvents        stored 1 chat event, lane main" in steps
    assert any(step.startswith("PushLive             live copies of the batch: ") for step in steps)


def test_the_newest_rows_of_a_table_are_printed(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    for text in ("one", "two", "three"):
        alice.http("POST", f"/rooms/{room}/messages", message(room, text))
    alice.wait_for(room, 3)

    printed = platform.command("rows", "ChatMessagesTable", room, "--limit", "2").stdout
    empty = platform.command("rows", "ChatMessagesTable", "nobody-wrote-here")
    refused = platform.command("rows", "NoTable", room)

    rows = [json.loads(line) for line in printed.splitlines()]
    assert [row["message"] for row in rows] == ["three", "two"]
    assert all(isinstance(row["expiresAt"], int) for row in rows)
    assert "ChatMessagesTable has no row with the key 'nobody-wrote-here'" in empty.stderr
    assert "no such table: NoTable; there are: " in refused.stderr
