"""The probes of a running stage, as its status shows them."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.features.declared.stream import GROUP
from headrace.features.operations.probe import PROBE
from headrace.queues.names import persist_queues
from headrace.stage.registry import STREAMS
from tests.e2e.clients import Client, until
from tests.e2e.conftest import RunningStage

QUEUES = persist_queues(dict.fromkeys([*(name for name in STREAMS if name != PROBE.name), GROUP], 1))
A_MINUTE_AND_MORE = 90.0


def status(operator: Client) -> dict[str, Any]:
    code, body, _ = operator.http("GET", "/status")
    assert code == 200, body
    found: dict[str, Any] = body
    return found


@pytest.mark.timeout(180)
def test_a_probe_passes_every_persist_queue_within_a_minute(platform: RunningStage) -> None:
    """P4."""
    operator = Client(platform, None, "ops")

    found = until(lambda: status(operator)["probes"], lambda probes: probes["state"] == "ok", A_MINUTE_AND_MORE)

    assert found["queues"].keys() == set(QUEUES)
