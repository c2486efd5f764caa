"""The scenario in which the whole stage fails, including its services."""

from __future__ import annotations

import time
from dataclasses import replace

from faults.harness.chat_load import READ_PATIENCE, Load
from faults.harness.harness import Harness
from faults.harness.ledger import QueueContents, Row
from faults.harness.stage_template import write_template
from loadtest.client.stage_process import SeparateStage

BETWEEN_KILLS = 1000
"""Events."""


def stage_killed(harness: Harness) -> Row:
    """A stage with its own services is killed (-9) under load, twice, and started again on the same data."""
    began = time.monotonic()
    folder = harness.folder / "whole"
    stage = SeparateStage(folder, "--template", str(write_template(harness.folder / "template-whole")))
    try:
        load = Load(stage.start(), "stage-killed")
        load.start()
        for _ in range(2):
            load.wait_for(load.accepted + BETWEEN_KILLS)
            stage.kill()
            stage.start()
        load.wait_for(load.accepted + BETWEEN_KILLS)
        load.stop()
        # This stage has no proxies to read its queues through: wait for the longest pause of the retry lane.
        row = load.row(
            "stage-killed",
            patience=READ_PATIENCE + 40,
            retried=load.checker.lanes["retry"],
            left=QueueContents(),
            note="twice, with its services",
            problems=load.problems,
        )
        return replace(row, seconds=time.monotonic() - began)
    finally:
        stage.close()
