"""A store that is slower than the producers: the limit slows them down, and without it the backlog grows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from faults.harness.chat_load import Load
from faults.harness.harness import Harness
from faults.harness.ledger import QueueContents, Row
from faults.harness.stage_template import ROOT
from faults.proxies.proxy_faults import slower_writes
from loadtest.checker.checker import Checker
from loadtest.client.chat_events import ChatEvent

LIMIT = 5
SECONDS = 15.0
RATE = 80
"""What the producers send a second, for so long. At most 40 a second are stored."""
RECORDS = 20
"""Records in a batch, so that few are in flight: two batches, which take a second."""


class Outcome(NamedTuple):
    """The rows of producers and users, the 429s of each, and the longest time until a message was stored."""

    rows: tuple[Row, Row]
    refused: tuple[int, int]
    longest: float


def overload(limit: int) -> Outcome:
    """Producers send faster than is stored, and a user sends a message a second."""
    accepted: dict[str, float] = {}

    def remember(events: Sequence[ChatEvent], _began: float) -> None:
        accepted.update((each.message_id, time.monotonic()) for each in events)

    parameters = {"BacklogSeconds": str(limit)}
    edits = [("          BatchSize: 200\n", f"          BatchSize: {RECORDS}\n")]
    harness = Harness(ROOT / ".local" / f"faults-backlog-{limit}", parameters=parameters, edits=edits)
    load = {"sockets": 0, "posts": 12, "rate": RATE, "size": 1, "scope": "events:write"}
    with harness, harness.scenario("backlog", **load) as run:
        run.load.checker = checker = Checker(remember)
        users = Load(harness.target, "backlog-users", sockets=0, posts=1, rate=1, size=1)
        harness.services.dynamodb.fault = slower_writes(0.5)
        run.load.start()
        users.start()
        run.wait(SECONDS)
        users.stop()
        rows = run.finish(heal=False), users.row("backlog-users", retried=0, left=QueueContents())
        stored = harness.services.stored.by_id
        longest = max(stored[message_id] - at for message_id, at in accepted.items())
    return Outcome(rows, (checker.retries["rate_limited"], users.checker.retries["rate_limited"]), longest)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_limit_slows_producers_before_users_and_without_it_the_backlog_grows() -> None:
    limited, unlimited = overload(LIMIT), overload(0)

    assert all(row.good for row in (*limited.rows, *unlimited.rows)), (limited, unlimited)
    assert unlimited.refused == (0, 0)
    producers, users = limited.refused
    assert producers > 10 * users, limited
    assert limited.longest < 0.75 * unlimited.longest, (limited, unlimited)
