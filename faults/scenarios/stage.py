"""The scenario in which the whole stage fails, including its services."""

from __future__ import annotations

import time

from faults.harness.chat_load import Load
from faults.harness.harness import READ_PATIENCE, Harness
from faults.harness.ledger import QueueContents, Row, reconcile
from faults.harness.stage import FaultStage
from faults.harness.stage_template import write_template
from loadtest.checker.readback import drain_and_read

BETWEEN_KILLS = 1000
"""Events."""


def stage_killed(harness: Harness) -> Row:
    """A stage with its own services is killed (-9) under load, twice, and started again on the same data."""
    began = time.monotonic()
    folder = harness.folder / "whole"
    stage = FaultStage(folder, write_template(harness.folder / "template-whole"), {})
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
        drain_and_read(load.checker, load.target.reader(), patience=READ_PATIENCE + 40)
        return reconcile(
            "stage-killed",
            time.monotonic() - began,
            load.checker,
            retried=load.checker.lanes["retry"],
            refused=load.checker.retries["unavailable"],
            left=QueueContents(),
            note="twice, with its services",
            problems=load.problems,
        )
    finally:
        stage.close()
