"""The scenario in which the target that a stage tells is away."""

from __future__ import annotations

import time
from itertools import pairwise

from faults.harness.harness import Harness
from faults.harness.ledger import Row
from faults.harness.told import delays, make_queue, percentile, target_away

AWAY, THERE = 30.0, 10.0
"""Seconds that the target is away, and that it is there before and afterwards."""
WITHIN = 2.0
"""Seconds after storing in which 99% must be told while the target is there."""
CATCHES_UP = 120.0
SLOWEST = 0.95
"""Share of the rate of storing that must remain while the target is away."""


def told_target_away(harness: Harness, *, away: float = AWAY, rate: float = 240) -> Row:
    """The queue that is told what is stored is away for 30 s."""
    make_queue(harness.services)
    stored, taken = harness.services.stored.by_id, harness.services.taken

    def is_caught_up() -> bool:
        """Whether less than the messages of a second wait."""
        return bool(taken.told) and len(stored) - len(taken.told) < rate

    with harness.scenario("told-target-away", rate=rate) as run:
        run.load.start()
        run.wait(3)
        run.wait_until(is_caught_up, CATCHES_UP)  # after the cold starts
        marks = [time.monotonic()]
        run.wait(THERE)
        marks.append(time.monotonic())
        with target_away(harness.services):
            run.wait(away)
        marks.append(time.monotonic())
        run.wait_until(is_caught_up, CATCHES_UP + away)
        marks.append(time.monotonic())
        run.wait(THERE)
        marks.append(time.monotonic())
        run.load.stop()
        run.wait_until(lambda: not stored.keys() - taken.told.keys(), CATCHES_UP)

        spans = list(pairwise(marks))
        rates = [sum(began <= at < ended for at in stored.values()) / (ended - began) for began, ended in spans]
        # Without what was stored just before the outage, and told after it.
        there = ((marks[0], marks[1] - WITHIN), spans[3])
        late = [percentile(delays(stored, taken.told, *span), 0.99) for span in there]
        untold = len(stored.keys() - taken.told.keys())
        run.expect(not untold, f"{untold} stored messages were not told")
        run.expect(rates[1] >= SLOWEST * rates[0], f"{rates[1]:.0f} stored/s while it was away, {rates[0]:.0f} before")
        run.expect(max(late) <= WITHIN, f"told {max(late):.1f} s after storing (p99) while it was there")
        return run.finish(
            f"told={len(taken.told)} untold={untold} repeated={taken.repeated} p99={late[0]:.2f}s/{late[1]:.2f}s"
            f" stored/s={rates[0]:.0f}/{rates[1]:.0f} caught up in {marks[3] - marks[2]:.1f}s"
        )
