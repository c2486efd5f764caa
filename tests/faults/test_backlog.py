"""A store that is slower than the producers: the limit slows them down, and without it the backlog grows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from faults.harness.chat_load import Load
from faults.harness.harness import Harness
from faults.harness.ledger import QueueContents, Row
from faults.harness.stage_template import ROOT
from faults.proxies.proxy_faults import slower_writes
from headrace_client import NotAccepted, Sender, SendSettings
from headrace_client.http import HttpTransport
from loadtest.checker.checker import Checker
from loadtest.client.chat_events import ChatEvent

LIMIT = 5
SECONDS = 15.0
RATE = 80
"""What the producers send a second, for so long. At most 40 a second are stored."""
RECORDS = 20
"""Records in a batch, so that few are in flight: two batches, which take a second."""


BEHIND = r"not accepted in time; the first: .*: the stage is behind: an event would wait about \d+ s to be stored"
REFUSALS = 12
"""So often a sender is refused at least, if it does not wait as it is told."""


@pytest.mark.timeout(300)
async def test_senders_wait_for_a_slow_store_however_often_they_are_refused(harness: Harness) -> None:
    """P1. One whose time is over says by how much the stage is behind."""
    user, pauses = "slow-store-client", list[float]()
    event = {"roomId": user, "userId": user, "username": user, "message": "hello"}
    api = HttpTransport(harness.target.http_url, harness.target.token_for(user, "events:write"))

    async def hurry(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0.1)

    with harness.scenario("slow-store", sockets=0, posts=8, rate=160, size=1, scope="events:write") as run:
        harness.services.dynamodb.fault = slower_writes(0.5)
        run.load.start()
        run.wait_until(lambda: run.load.checker.retries["rate_limited"] > 0)
        async with Sender(api, SendSettings(retry_timeout=1)) as impatient:
            with pytest.raises(NotAccepted, match=BEHIND):
                await impatient.send([event])
        harness.heal()  # producers are refused for ten seconds more, until the stage has forgotten how late it was
        async with Sender(api, sleep=hurry) as patient:
            (sent,) = await patient.send([event])
        row = run.finish()

    assert sent.is_accepted
    assert len(pauses) >= REFUSALS
    assert row.good, row


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
