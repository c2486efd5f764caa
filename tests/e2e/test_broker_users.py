"""The publishers and mappings of a stage are connected to its broker as their users."""

from __future__ import annotations

import json

from faults.harness.services import rabbitmqctl
from headrace.features.declared.stream import GROUP
from headrace.features.operations.probe import PROBE
from headrace.stage.registry import STREAMS
from tests.e2e.clients import Client, unique, until
from tests.e2e.conftest import RunningStage

PUBLISHER, CONSUMER, ADMINISTRATOR = "headrace-publisher", "headrace-consumer", "headrace"
LIVE_QUEUES = 3


def connections(stage: RunningStage) -> list[tuple[str, str]]:
    """The user of each connection, and the name that its client gave it."""
    columns = ("user", "client_properties")
    found = json.loads(rabbitmqctl(stage.state_dir, "-q", "--formatter", "json", "list_connections", *columns))
    return [(one["user"], {each[0]: each[-1] for each in one[columns[1]]}.get("connection_name", "")) for one in found]


def test_publishers_and_mappings_are_connected_as_their_users(platform: RunningStage) -> None:
    Client(platform).http("POST", f"/rooms/{unique('room')}/messages", {"message": "hello"})

    found = until(lambda: connections(platform), lambda rows: PUBLISHER in {user for user, _ in rows})

    mappings = {name: user for user, name in found if name.startswith("localstage ")}
    assert len(mappings) == len({each.queues for each in STREAMS.values() if each != PROBE} | {GROUP}) + LIVE_QUEUES
    assert set(mappings.values()) == {CONSUMER}
    assert {user for user, name in found if not name.startswith("localstage ")} <= {PUBLISHER, ADMINISTRATOR}
