"""A scenario in which one of two brokers fails that do not know one another."""

from __future__ import annotations

import time

from faults.harness.harness import WATCHERS, Harness
from faults.harness.ledger import Row
from faults.harness.outages import killed
from faults.scenarios.cluster import CONFIRMING, longest_pause

SECOND = "RabbitMQ 2"


def one_of_two_brokers_killed(harness: Harness) -> Row:
    """One of two brokers is killed (-9), and restarted: the other takes the events of both."""
    with harness.scenario("one-of-two-brokers-killed", watchers=WATCHERS, changes=True) as run:
        lanes = run.load.checker.lanes
        run.load.start()
        run.wait(5)
        with killed(harness.services, SECOND):
            began = time.monotonic()
            run.wait(CONFIRMING)
            main, retry = lanes["main"], lanes["retry"]
            run.wait(12)
            run.expect(lanes["main"] > main, "the main lane takes nothing while one of two brokers is down")
            more = lanes["retry"] - retry
            run.expect(not more, f"{more} events took the retry lane while the other broker was up")
            main_lane = harness.operator.status()["lanes"]["main"]
            run.expect("broker 2" in main_lane.get("reason", ""), f"GET /status says main={main_lane!r}")
        run.wait(5)
        return run.finish(longest_pause(run, began))
