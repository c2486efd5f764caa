"""Scenarios in which DynamoDB, SQS or a record fails."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from faults.harness import poison
from faults.harness.chat_load import messages
from faults.harness.harness import CHAT, PATIENCE, WATCHERS, Harness
from faults.harness.ledger import Row
from faults.harness.outages import both, dynamodb_fault, sqs_down
from faults.proxies.proxy_faults import CrashRecord, KillsWriters, RefusesSome, down
from faults.proxies.throttle import HalfThrottled, Throttled
from headrace.queues.rabbitmq.topology import DELIVERY_LIMIT
from loadtest.client.chat_events import iso
from loadtest.sending.delivery import Delivery
from loadtest.sending.transports import FrameTransport

CRASHING_TEXT = "the-record-that-crashes"
REPEATED = 10_000
SETS_OF_POISON = 4
DEAD_AT_FIRST = 50
IMPORTERS, IMPORT_RATE, IMPORTED = 4, 2_000, 20_000
PARTITION_UNITS, THROTTLED_SECONDS = 10.0, 240.0


def dynamodb_down(harness: Harness) -> Row:
    """DynamoDB cuts every connection for 30 s."""
    with harness.scenario("dynamodb-down", changes=True) as run:
        run.load_through(dynamodb_fault(harness.services, down), 30)
        return run.finish("30 s")


def dynamodb_throttles_half(harness: Harness, stream: str = CHAT) -> Row:
    """DynamoDB leaves half of all items unprocessed, and refuses one call in ten."""
    throttle = HalfThrottled(1)
    with harness.scenario("dynamodb-throttles-half", stream) as run, dynamodb_fault(harness.services, throttle):
        run.load.start()
        run.wait(15)
        return run.finish(f"{throttle.refused:,} throttled rows")


def throttled_import(harness: Harness) -> Row:
    """Up to 2,000 events/s go into one room, whose partition takes 10 for longer than the retry budget.

    On AWS a partition takes 1,000. If throttled tries counted, records would be dead.
    """
    load: dict[str, Any] = {"sockets": 0, "posts": IMPORTERS, "rate": IMPORT_RATE, "size": 250, "rooms": 1}
    throttle = Throttled(PARTITION_UNITS)
    with harness.scenario("throttled-import", **load) as run, dynamodb_fault(harness.services, throttle):
        run.load.start()
        began = time.monotonic()
        run.load.wait_for(IMPORTED)
        seconds = time.monotonic() - began
        rate = run.load.accepted / seconds
        run.load.stop()
        run.wait(THROTTLED_SECONDS - seconds)
        run.expect(throttle.written < IMPORTED / 2, f"{throttle.written:,} items were written while throttled")
        return run.finish(f"{rate:,.0f} accepted/s, {throttle.refused:,} throttled rows")


def persist_killed(harness: Harness, kills: int = 12) -> Row:
    """persist_events is killed (-9) within a batch, before and after its rows are written, twelve times."""
    fault = KillsWriters(every=15, most=kills)
    with harness.scenario("persist-killed", watchers=WATCHERS) as run, dynamodb_fault(harness.services, fault):
        run.load.start()
        run.wait_until(lambda: fault.killed >= kills)
        run.expect(fault.killed >= kills, f"only {fault.killed} workers were killed")
        return run.finish(f"{fault.killed} kills")


def sqs_and_dynamodb_down(harness: Harness) -> Row:
    """DynamoDB and SQS are unavailable for 45 s: batches can be neither stored nor sent to the retry queue.

    Twenty immediate redeliveries would end in the parking queue within milliseconds: persist_events must delay them.
    """
    with harness.scenario("sqs-and-dynamodb-down") as run:
        run.load_through(both(sqs_down(harness.services), dynamodb_fault(harness.services, down)), 45)
        return run.finish("45 s")


def poison_of_all_kinds(harness: Harness) -> Row:
    """One record in a hundred can never be stored, of eight kinds; its neighbours are stored at once."""
    with harness.scenario("poison-of-all-kinds") as run:
        run.load.start()
        reasons: dict[bytes, str] = {}
        for number in range(SETS_OF_POISON):
            made = poison.make(number, iso(datetime.now(UTC)))
            reasons.update({each.mark: each.reason for each in made})
            harness.lanes.publish([each.body for each in made if not each.encoding])
            for each in made:
                if each.encoding:
                    harness.lanes.send_to_retry(each.body.decode(), each.encoding)
            run.wait(2.5)
        run.expected_dead = reasons
        began = time.monotonic()
        dead = harness.lanes.drain(60, lambda depths: depths.dead >= len(reasons)).dead
        run.expect(dead >= len(reasons), "the poison was not dead within a minute")
        return run.finish(f"all dead {time.monotonic() - began:.0f} s after the last")


def redrive_under_failures(harness: Harness) -> Row:
    """Two operators redrive dead letters at once, one of them stops half-way, and new dead letters arrive."""
    with harness.scenario("redrive-under-failures") as run:
        with dynamodb_fault(harness.services, RefusesSome("01")):
            run.load.start()
            run.wait_until(lambda: harness.lanes.depths().dead >= DEAD_AT_FIRST)
        with dynamodb_fault(harness.services, RefusesSome("12")):
            with ThreadPoolExecutor(1) as second_operator:
                stops_early = second_operator.submit(harness.operator.redrive, 1)
                moved = harness.operator.redrive() + stops_early.result()
            before = harness.lanes.depths().dead
            run.wait_until(lambda: harness.lanes.depths().dead > before)
        run.load.stop()
        moved += harness.redrive_all()
        run.expect(moved >= DEAD_AT_FIRST, f"only {moved} records were redriven")
        return run.finish(f"{moved} redriven")


def crash_record(harness: Harness) -> Row:
    """A record crashes each worker that writes it, in either lane, until it is dead; its neighbours are stored."""
    record = CrashRecord(CRASHING_TEXT)
    with harness.scenario("crash-record", sockets=0, posts=4, rate=120) as run:
        harness.services.dynamodb.fault = record
        run.load.start()
        run.wait(2)
        event = run.load.send_one(CRASHING_TEXT)
        run.expected_dead = {event.message_id.encode(): ""}
        # After each crash the record is invisible for the full visibility timeout of the retry queue.
        harness.lanes.drain(2 * PATIENCE, lambda depths: depths.dead > 0)
        return run.finish(lambda: f"{record.killed} crashes", heal=False)


def parking_queue(harness: Harness) -> Row:
    """A record crashes its workers while SQS is down: its batch goes to the parking queue; an operator returns it."""
    record = CrashRecord(CRASHING_TEXT)
    with harness.scenario("parking-queue", sockets=0, posts=4, rate=120) as run:
        with sqs_down(harness.services), dynamodb_fault(harness.services, record):
            run.load.start()
            run.wait(2)
            run.load.send_one(CRASHING_TEXT)
            # Twenty deliveries, each 5 s after the one before, or later on a busy machine.
            harness.lanes.drain(4 * PATIENCE, lambda depths: depths.parking > 0)
        returned = harness.operator.empty_parking_queue()
        run.expect(returned > 0, "nothing was in the parking queue")
        return run.finish(f"{record.killed} crashes, {returned} returned")


def mapping_nacks(harness: Harness) -> Row:
    """RabbitMQ 4.3 counts no nack: a record that crashes its workers while SQS is down comes back until SQS is back."""
    record = CrashRecord(CRASHING_TEXT)
    variables = {"LOCALSTAGE_DEBIAN_SUITE": "forky", "LOCALSTAGE_RETURNS_BY": "nack"}
    with (
        Harness(harness.folder / "nacks", variables) as other,
        other.scenario("mapping-nacks", sockets=0, posts=4, rate=120) as run,
    ):
        other.services.dynamodb.fault = record
        with sqs_down(other.services):
            run.load.start()
            run.wait(2)
            event = run.load.send_one(CRASHING_TEXT)
            # One more than the limit of 20 that other versions count, each 5 s after the one before.
            run.wait_until(lambda: record.killed > DELIVERY_LIMIT + 1, 2 * PATIENCE)
            crashes = record.killed
            run.expect(crashes > DELIVERY_LIMIT + 1, f"it came back only {crashes} times")
            run.expect(other.lanes.depths().parking == 0, "the broker parked it although it counts no nack")
            failed = other.stage.status()["functions"]["PersistEvents"]["errors"]
            run.expect(failed > 0, "PersistErrorsAlarm does not ring: persist_events counts no error")
        run.expected_dead = {event.message_id.encode(): ""}
        other.lanes.drain(2 * PATIENCE, lambda depths: depths.dead > 0)
        return run.finish(lambda: f"{crashes} returns without SQS, none parked", heal=False)


def three_times(harness: Harness) -> Row:
    """The same 10,000 events are sent three times."""
    with harness.scenario("three-times", sockets=0, posts=0) as run:
        user = "three-times-user"
        events = list(islice(messages("three-times", user), REPEATED))
        with closing(harness.target.websocket(user, "chat:write", timeout=30.0)) as socket:
            for _ in range(3):
                Delivery(FrameTransport(socket, run.load.checker.retried), run.load.checker).send(events)
        accepted = run.load.accepted
        run.expect(accepted == REPEATED, f"{accepted} of {REPEATED} were accepted")
        return run.finish("3 x 10,000")
