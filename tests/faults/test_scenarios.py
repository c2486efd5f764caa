"""Three fault scenarios of ``make faults``, and a store that is slow, on one stage behind proxies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from faults.harness.harness import PICTURES, Harness
from faults.proxies.proxy_faults import CrashRecord, slower_writes
from faults.scenarios import broker, store
from headrace_client import NotAccepted, Sender, SendSettings
from headrace_client.http import HttpTransport
from localstage.client.errors import HttpError
from localstage.client.running_stage import ROOT
from tests.e2e.clients import until

pytestmark = pytest.mark.timeout(300)
"""Longer than the lanes may take to drain (``PATIENCE``), so that a scenario that fails says why."""
BEHIND = r"not accepted in time; the first: .*: the stage is behind: an event would wait about \d+ s to be stored"


@pytest.fixture(scope="module")
def harness() -> Iterator[Harness]:
    # Producers are refused while a record would wait for a second. Batches are small, so that few are in flight.
    parameters, edits = {"BacklogSeconds": "1"}, [("          BatchSize: 200\n", "          BatchSize: 20\n")]
    with Harness(ROOT / ".local" / "faults-short", parameters=parameters, edits=edits) as harness:
        yield harness


def test_events_whose_confirm_was_lost_are_stored_once(harness: Harness) -> None:
    """P1, P3."""
    row = broker.confirms_lost(harness, resets=5)

    assert row.good, row
    timeline = (harness.folder / PICTURES / "confirms-lost.svg").read_text(encoding="utf-8")
    assert f"{row.accepted:,} accepted, {row.stored:,} stored, 0 dead, lost 0" in timeline
    assert all(label in timeline for label in ("accepted", "stored", "main", "retry", "dead", "outage"))


def test_a_batch_whose_writer_is_killed_is_stored_once(harness: Harness) -> None:
    """P1, P3."""
    row = store.persist_killed(harness, kills=4)

    assert row.good, row


def test_events_are_stored_although_the_broker_was_down_from_the_first_on(harness: Harness) -> None:
    """P1, P6: the status says so."""
    row = broker.broker_down_from_start(harness)

    assert row.good, row
    assert row.dead == 0


def test_a_deletion_whose_worker_is_killed_before_it_is_applied_holds_when_its_message_is_sent_again(
    harness: Harness,
) -> None:
    """P3. The deletion is stored, and not applied to its message yet."""
    path, sent = "/rooms/forgetful/messages", datetime.now(UTC)
    message = {"message": "my password", "messageId": "m-1-forgetful", "timestamp": f"{sent:%Y-%m-%dT%H:%M:%S.%fZ}"}
    with closing(harness.target.http("forgetful", "chat:write", "chat:read")) as api:

        def shown() -> list[dict[str, Any]]:
            try:
                return list(api.get(path)["items"])
            except HttpError:
                return []

        api.post(path, message)
        (item,) = until(shown, bool, 60)
        kill = CrashRecord(message["messageId"], "UpdateItem", most=1)
        harness.services.dynamodb.fault = kill
        api.change("DELETE", f"{path}/{quote(item['key'], safe='')}", {})
        until(lambda: kill.killed, bool, 60)
        api.post(path, message)
        until(lambda: shown()[0], lambda item: "deletedAt" in item, 120)
        harness.heal()
        for _ in range(5):
            api.post(path, message)
            (item,) = shown()
            assert item["message"] == ""


async def send_on(sender: Sender, event: dict[str, str], pauses: Sequence[float] = ()) -> None:
    """Send until it fails, or has paused: the producers wait too, so the stage may take some in between."""
    while not pauses:
        for sent in await sender.send([event]):
            assert sent.is_accepted


async def test_senders_wait_for_a_slow_store_until_it_takes_their_events(harness: Harness) -> None:
    """P1. One whose time is over says by how much the stage is behind."""
    user, pauses = "slow-store-client", list[float]()
    event = {"roomId": user, "userId": user, "username": user, "message": "hello"}
    api = HttpTransport(harness.target.http_url, harness.target.token_for(user, "events:write"))

    async def heal(seconds: float) -> None:
        pauses.append(seconds)
        harness.heal()
        await asyncio.sleep(0.1)

    with harness.scenario("slow-store", sockets=0, posts=8, rate=160, size=1, scope="events:write") as run:
        harness.services.dynamodb.fault = slower_writes(0.5)
        run.load.start()
        run.wait_until(lambda: run.load.checker.retries["rate_limited"] > 0)
        async with Sender(api, SendSettings(retry_timeout=1)) as impatient:
            with pytest.raises(NotAccepted, match=BEHIND):
                await send_on(impatient, event)
        async with Sender(api, sleep=heal) as patient:
            await send_on(patient, event, pauses)
        row = run.finish()

    assert row.good, row
