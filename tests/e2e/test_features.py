"""A feature that is switched off keeps what it has stored, and comes back with all of it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.clients import Client, message, unique, until
from tests.e2e.conftest import PORTS, ROOT, RunningStage, fresh_stage

TEMPLATE = ROOT / "template.yaml"


GONE = ("/analytics/window", "/ads/a/clicks", "/resorts", "/streams", "/users/a/invitations", "/parked", "/exports/a")
"""Routes of functions that a stage without features has not."""


@pytest.mark.timeout(300)  # three starts of a stage
def test_edits_and_reactions_are_there_again_after_a_stage_without_them() -> None:
    stage = fresh_stage("features", TEMPLATE)
    try:
        alice, room = Client(stage.wait_ready(), "alice"), unique("room")
        assert alice.http("POST", "/messages/batch", {"events": [message(room, "helo")]})[0] == 202
        path = f"/rooms/{room}/messages"
        (item,) = until(lambda: shown(alice, path), bool)
        one = f"{path}/{quote(item['key'], safe='')}"
        assert alice.http("PATCH", one, {"message": "hello"})[0] == 202
        assert alice.http("PUT", f"{one}/reaction", {"value": "+1"})[0] == 202
        until(lambda: shown(alice, path)[0], lambda found: found.get("reactions") and found["message"] == "hello")
        stage.stop()

        stage = RunningStage(stage.state_dir, TEMPLATE, *PORTS, environ={"LOCALSTAGE_FEATURES": "none"})
        alice = Client(stage.wait_ready(), "alice")
        (found,) = shown(alice, path)
        assert (found["message"], found["reactions"]) == ("hello", {"+1": 1})
        for method, where in (("PATCH", one), ("PUT", f"{one}/reaction"), ("GET", f"{one}/versions")):
            assert alice.http(method, where, None if method == "GET" else {"message": "x", "value": "x"})[0] == 404
        assert [each for each in GONE if status_of(alice, each) != 404] == []
        assert alice.http("POST", "/messages/batch", {"events": [message(room, "more")]})[0] == 202
        until(lambda: shown(alice, path), lambda found: len(found) == 2)
        stage.stop()

        stage = RunningStage(stage.state_dir, TEMPLATE, *PORTS)
        alice = Client(stage.wait_ready(), "alice")
        assert [each["message"] for each in alice.http("GET", f"{one}/versions")[1]["items"]] == ["helo", "hello"]
        assert alice.http("PUT", f"{one}/reaction", {"value": "+2"})[0] == 202
        until(lambda: shown(alice, path)[-1].get("reactions"), lambda found: found == {"+2": 1})
    finally:
        stage.stop()


def status_of(client: Client, path: str) -> int:
    """The status of an answer, which may be one that the description does not have."""
    headers = {"authorization": f"Bearer {client.token}"}
    return int(client.pool.request("GET", client.stage.where["http_url"] + path, headers=headers).status)


def shown(client: Client, path: str) -> list[dict[str, Any]]:
    """The items of the newest page of a room; none while there is no room."""
    items: list[dict[str, Any]] = client.http("GET", path)[1].get("items", [])
    return items
