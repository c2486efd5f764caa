"""A stage with a low limit refuses excess events, and excess connections of one user."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from faults.harness.harness import EDITS, PARAMETERS
from loadtest.client.stage_template import write_template
from tests.e2e.clients import Client, message, unique, until
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage

RATE = 20
MOST = 5 * RATE


@pytest.fixture(scope="module")
def limited() -> Iterator[RunningStage]:
    """The platform with a low limit on senders."""
    limits = {**PARAMETERS, "EventRate": str(RATE), "RequestRate": "300"}
    template = write_template(ROOT / ".local" / "e2e" / "limited-template", EDITS, limits)
    stage = fresh_stage("limited", template)
    try:
        yield stage.wait_ready()
    finally:
        stage.stop(signal.SIGKILL)  # what it has is not used again


def too_many(client: Client, room: str) -> dict[str, Any]:
    """Send more in one batch than a window takes, so that the sender is limited for seconds; returns the answer."""
    events = [message(room, f"n{number}") for number in range(MOST + 10)]
    _, body, _ = client.http("POST", "/messages/batch", {"events": events})
    if "results" in body:  # not if the sender was over the limit before
        assert [each["messageId"] for each in body["results"]] == [each["messageId"] for each in events]
    return dict(body)


def test_events_beyond_a_senders_rate_are_refused_with_ids_and_retry_after(limited: RunningStage) -> None:
    client, room = Client(limited), unique("room")

    results = too_many(client, room)["results"]
    assert ["lane" in each for each in results] == [True] * MOST + [False] * 10
    assert {each["error"]["code"] for each in results[MOST:]} == {"rate_limited"}

    def one_more() -> tuple[int, Any, Any]:
        too_many(client, room)
        return client.http("POST", f"/rooms/{room}/messages", message(room, "one more"))

    status, body, headers = until(one_more, lambda answer: answer[0] != 202)
    assert (status, body["error"]["code"]) == (429, "rate_limited")
    assert int(headers["retry-after"]) == body["error"]["retryAfter"] >= 1
    assert "results" not in body, "nothing of it is read"
