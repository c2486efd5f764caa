"""Scenarios in which push_live is killed or waits, and in which the whole stage fails, including its services."""

from __future__ import annotations

import time
from dataclasses import replace

from faults.harness.chat_load import READ_PATIENCE, Load
from faults.harness.harness import EDITS, PARAMETERS, WATCHERS, Harness
from faults.harness.ledger import Row
from faults.harness.outages import connections_fault
from faults.proxies.proxy_faults import standing_still
from faults.proxies.socket_owner import kill_worker
from loadtest.client.stage_process import SeparateStage
from loadtest.client.stage_template import write_template

BETWEEN_KILLS = 1000
"""Events."""
PUSH_KILLS = 5
KILLED_WITHIN_SECONDS = 60
STALLED_SECONDS = 30
MOST_AGAIN = 0.05
"""The share of deliveries that may be pushed, and fetched, once more while @connections stands still."""


def push_killed(harness: Harness) -> Row:
    """push_live is killed (-9) under load, five times."""
    with harness.scenario("push-killed", watchers=WATCHERS) as run:
        run.load.start()
        run.wait(3)
        killed, until = 0, time.monotonic() + KILLED_WITHIN_SECONDS
        while killed < PUSH_KILLS and time.monotonic() < until:
            found = kill_worker(harness.stage.pid, "PushLive")
            killed += found
            run.wait(3 if found else 0.2)  # the stage starts a worker with the next live copy
        run.expect(killed >= PUSH_KILLS, f"only {killed} workers were killed")
        return run.finish(f"{killed} kills")


def push_stalled(harness: Harness) -> Row:
    """@connections answers nothing for 2 of every 3 s, for 30 s."""
    with harness.scenario("push-stalled", watchers=WATCHERS, rate=50) as run:
        run.most_again = MOST_AGAIN
        run.load_through(connections_fault(harness.services, standing_still()), STALLED_SECONDS)
        return run.finish()


def stage_killed(harness: Harness) -> Row:
    """A stage with its own services is killed (-9) under load, twice, and started again on the same data."""
    began = time.monotonic()
    folder = harness.folder / "whole"
    template = write_template(harness.folder / "template-whole", EDITS, PARAMETERS)
    stage = SeparateStage(folder, "--template", str(template))
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
        row = load.row(patience=READ_PATIENCE + 40)
        return replace(
            row,
            scenario="stage-killed",
            seconds=time.monotonic() - began,
            retried=load.checker.lanes["retry"],
            note="twice, with its services",
            problems=[*load.problems, *row.problems],
        )
    finally:
        stage.close()
