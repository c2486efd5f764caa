"""The day on which the whole stage dies, its services included."""

from __future__ import annotations

import time

from faults.harness import READ_PATIENCE, World
from faults.lanes import Depths
from faults.ledger import Row, judge
from faults.load import Load
from faults.stage import FaultStage
from faults.template import write_template
from loadtest.readback import drain_and_read

BETWEEN_KILLS = 1000
"""Events."""


def stage_killed(world: World) -> Row:
    """A stage with its own services is killed (-9) under load, twice, and started again on the same data."""
    began = time.monotonic()
    folder = world.folder / "whole"
    folder.mkdir(parents=True, exist_ok=True)
    stage = FaultStage(folder, write_template(world.folder / "template-whole"), {})
    stage.forget()
    try:
        load = Load(stage.start(), "stage-killed")
        load.start()
        for _ in range(2):
            load.wait_for(load.accepted + BETWEEN_KILLS)
            stage.kill()
            stage.start()
        load.wait_for(load.accepted + BETWEEN_KILLS)
        load.stop()
        # Its services are its own: what waits shows in what can be read, after the longest pause that is due.
        drain_and_read(load.checker, load.target.reader(), patience=READ_PATIENCE + 40)
        return judge(
            "stage-killed",
            time.monotonic() - began,
            load.checker,
            retried=load.checker.lanes["retry"],
            refused=load.refusals["unavailable"],
            dead=(),
            expected_dead={},
            left=Depths(0, 0, 0, 0),
            note="twice, with its services",
            problems=load.troubles,
        )
    finally:
        stage.stop()
