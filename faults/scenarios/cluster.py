"""Scenarios in which nodes of a cluster of three RabbitMQ nodes fail."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from itertools import pairwise

from faults.harness.harness import Harness, ScenarioRun
from faults.harness.ledger import Row
from faults.harness.outages import cut_off, disk_full, killed
from faults.harness.services import rabbitmqctl
from localstage.services import rabbitmq

NODES = tuple(node.name for node in rabbitmq.NODES)
QUEUE = "persist.chat.0"
CONFIRMING = 1.0
"""Seconds after which no confirm of before an outage is on its way any more."""


def cluster_leader_killed(harness: Harness) -> Row:
    """The node with the leader of chat's persist queue is killed (-9), and restarted."""
    with harness.scenario("cluster-leader-killed") as run:
        return outlived(run, 12, killed(harness.services, NODES[leader(harness) - 1]))


def cluster_follower_killed(harness: Harness) -> Row:
    """A node without that leader is killed (-9), and restarted."""
    with harness.scenario("cluster-follower-killed") as run:
        return outlived(run, 12, killed(harness.services, NODES[leader(harness) % len(NODES)]))


def cluster_majority_killed(harness: Harness) -> Row:
    """Two nodes of three are killed (-9): the main lane takes nothing, and the retry lane everything."""
    with harness.scenario("cluster-majority-killed") as run:
        run.load.start()
        run.wait(3)
        with killed(harness.services, *NODES[1:]):
            run.wait(CONFIRMING)
            main, retry = run.load.checker.lanes["main"], run.load.checker.lanes["retry"]
            run.wait(10)
            more = run.load.checker.lanes["main"] - main
            run.expect(not more, f"{more} events were confirmed without a majority")
            run.expect(run.load.checker.lanes["retry"] > retry, "no event took the retry lane without a majority")
        return run.finish(went_on(run, time.monotonic()))


def cluster_node_cut_off(harness: Harness) -> Row:
    """The node with the leader loses its connections to the others for 15 s, and pauses as a minority."""
    with harness.scenario("cluster-node-cut-off") as run:
        return outlived(run, 15, cut_off(harness.services, leader(harness)))


def cluster_disk_full(harness: Harness) -> Row:
    """One node has no free disk for 10 s, which blocks the publishers of all nodes."""
    with harness.scenario("cluster-disk-full") as run:
        run.load_through(disk_full(harness.services, 3), 10)
        run.expect(run.load.checker.lanes["retry"] > 0, "no event took the retry lane while publishers were blocked")
        return run.finish(went_on(run, time.monotonic()))


def cluster_rolling_restart(harness: Harness) -> Row:
    """Each node is stopped and started again, one after the other, as for an update."""
    with harness.scenario("cluster-rolling-restart") as run:
        run.load.start()
        run.wait(3)
        began = time.monotonic()
        for node in NODES:
            harness.services.restart(node)
            run.wait(3)
        return run.finish(longest_pause(run, began))


def cluster_down_from_start(harness: Harness) -> Row:
    """The cluster starts after the functions: no node runs before the first event."""
    with harness.scenario("cluster-down-from-start") as run:
        with killed(harness.services, *NODES):
            run.load.start()
            run.wait(10)
            run.expect(run.load.checker.lanes["main"] == 0, "an event took the main lane without a broker")
        return run.finish(went_on(run, time.monotonic()))


def leader(harness: Harness) -> int:
    """The number of the node that has the leader of ``QUEUE``."""
    for node in range(1, len(NODES) + 1):
        said = rabbitmqctl(harness.services.folder, "--quiet", "list_queues", "name", "leader", node=node)
        for line in said.splitlines():
            name, _, at = line.partition("\t")
            if name == QUEUE:
                return int(at.partition("@")[0].removeprefix("headrace") or 1)
    raise AssertionError(f"no leader of {QUEUE}")


def outlived(run: ScenarioRun, seconds: float, outage: AbstractContextManager[object]) -> Row:
    """Run the load before, during and after an outage that leaves a majority, which goes on while it lasts."""
    run.load.start()
    run.wait(3)
    with outage:
        began = time.monotonic()
        note = went_on(run, began)
        run.wait(max(0.0, began + seconds - time.monotonic()))
    run.wait(3)
    return run.finish(f"{note}; {longest_pause(run, began)}")


def went_on(run: ScenarioRun, began: float) -> str:
    """Wait until the main lane takes events again after ``began``; says within what time."""
    time.sleep(CONFIRMING)
    before = run.load.checker.lanes["main"]
    run.wait_until(lambda: run.load.checker.lanes["main"] > before)
    run.expect(run.load.checker.lanes["main"] > before, "the main lane takes nothing any more")
    return f"main lane again within {time.monotonic() - began:.1f} s"


def longest_pause(run: ScenarioRun, began: float) -> str:
    """The longest time without a stored message between ``began`` and now."""
    stored = sorted(each for each in list(run.harness.services.stored.by_id.values()) if each >= began)
    paused = max(after - at for at, after in pairwise([began, *stored, time.monotonic()]))
    return f"storing paused for at most {paused:.1f} s"
