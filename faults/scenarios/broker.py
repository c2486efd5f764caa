"""Scenarios in which the broker, the cache or a frozen function fails."""

from __future__ import annotations

import time

from faults.harness import outages
from faults.harness.harness import CHAT, SETTLED, WATCHERS, Harness
from faults.harness.ledger import Row
from faults.harness.outages import both, broker_refusing, broker_stalled, killed, memory_alarm, silent, sqs_down
from faults.proxies.socket_owner import owned_by

FROZEN_SECONDS = 190.0
FREEZES = "ReceiveFrame"
RESETS = 20


def broker_killed(harness: Harness, stream: str = CHAT) -> Row:
    """The broker is killed (-9) and restarted under load, twice."""
    with harness.scenario("broker-killed", stream, watchers=WATCHERS, changes=True) as run:
        run.load.start()
        for _ in range(2):
            run.wait(5)
            with killed(harness.services, "RabbitMQ"):
                run.wait(4)
        run.wait(4)
        return run.finish("twice")


def broker_down_from_start(harness: Harness) -> Row:
    """The broker is down before the first event: events are still accepted and stored, and GET /status says so."""
    with harness.scenario("broker-down-from-start") as run, killed(harness.services, "RabbitMQ"):
        run.load.start()
        run.wait_until(lambda: harness.operator.status()["breakers"]["state"] == "open")
        status = harness.operator.status()
        run.expect(status["accepting"] == "retry", f"GET /status says accepting={status['accepting']!r}")
        run.expect(status["breakers"]["state"] == "open", f"GET /status says breakers={status['breakers']!r}")
        run.expect(run.load.checker.lanes["main"] == 0, "an event took the main lane without a broker")
        run.wait_until(lambda: run.read_back().stored > 0)
        stored = run.read_back().stored
        run.expect(stored > 0, "nothing was stored while the broker was down")
    return run.finish(f"{stored:,} stored meanwhile")


def broker_and_sqs_down(harness: Harness) -> Row:
    """The broker and SQS are unavailable for 10 s: no event can be kept, so none is accepted (503)."""
    with harness.scenario("broker-and-sqs-down") as run:
        run.load_through(both(sqs_down(harness.services), broker_refusing(harness.services)), 10)
        run.expect(run.load.checker.retries["unavailable"] > 0, "no event was refused although none could be kept")
        return run.finish("10 s")


def broker_black_holed(harness: Harness) -> Row:
    """Nothing gets through to the broker or back for 20 s; connections stay open."""
    with harness.scenario("broker-black-holed") as run:
        run.load_through(broker_stalled(harness.services), 20)
        return run.finish("20 s")


def broker_memory_alarm(harness: Harness) -> Row:
    """The broker's memory alarm blocks every publisher for 10 s."""
    with harness.scenario("broker-memory-alarm") as run:
        run.load_through(memory_alarm(harness.services), 10)
        retried = run.load.checker.lanes["retry"]
        run.expect(retried > 0, "no event took the retry lane while publishers were blocked")
        return run.finish("10 s")


def confirms_lost(harness: Harness, resets: int = RESETS) -> Row:
    """Connections are reset after the broker has the message and before its publisher has the confirm."""
    with harness.scenario("confirms-lost") as run:
        run.load.start()
        run.wait(2)
        with outages.confirms_lost(harness.services, resets) as confirms:
            # Each reset may open the breaker, which then sends nothing to the broker for ten seconds.
            run.wait_until(lambda: not confirms.left)
        run.expect(confirms.left == 0, f"{confirms.left} of {resets} confirms were not lost")
        return run.finish(f"{resets} resets")


def queue_deleted(harness: Harness) -> Row:
    """An empty persist queue is deleted (a queue that holds messages would lose them)."""
    with harness.scenario("queue-deleted") as run:
        run.load.start()
        run.wait(3)
        run.load.pause()
        harness.lanes.drain(30)
        harness.lanes.delete_queue("persist.chat.0")
        run.load.resume()
        run.wait(5)
        retried = run.load.checker.lanes["retry"]
        run.expect(retried > 0, "no event took the retry lane while its queue was missing")
        # The schedule declares the topology within a minute; then the event source mapping finds its queue.
        run.wait_until(lambda: harness.lanes.has_queue("persist.chat.0"))
        run.expect(harness.lanes.has_queue("persist.chat.0"), "the queue was not declared again")
        run.wait(SETTLED)
        return run.finish("declared by the schedule")


def cache_killed(harness: Harness, stream: str = CHAT) -> Row:
    """The cache is killed (-9) and restarted empty."""
    with harness.scenario("cache-killed", stream, watchers=WATCHERS, changes=True) as run:
        run.load_through(killed(harness.services, "Redis"), 6)
        return run.finish()


def cache_silent(harness: Harness) -> Row:
    """The cache accepts connections and does not answer for 10 s."""
    with harness.scenario("cache-silent") as run:
        run.load_through(silent(harness.services, "Redis"), 10)
        return run.finish("10 s")


def function_frozen(harness: Harness) -> Row:
    """receive_frame is frozen for three minutes between two publishes; meanwhile the broker closes its connections."""
    with harness.scenario("function-frozen", posts=0) as run:
        run.load.start()
        run.wait_until(lambda: run.load.checker.lanes["main"] > 0)  # a slow machine starts functions in seconds
        run.wait(3)
        run.load.pause()
        held = {port for port in harness.services.broker.peers if owned_by(port, FREEZES)}
        frozen = time.monotonic()
        run.wait(FROZEN_SECONDS)
        left = held & harness.services.broker.peers
        run.expect(len(held) > 0, "no frozen worker held a connection to the broker")
        run.expect(not left, f"the broker did not close the connections of {len(left)} of {len(held)} frozen workers")
        before = run.load.checker.lanes["main"]
        run.load.resume()
        run.wait_until(lambda: run.load.checker.lanes["main"] > before)
        run.wait(3)
        run.expect(run.load.checker.lanes["main"] > before, "nothing was published to the broker after the freeze")
        return run.finish(f"{(time.monotonic() - frozen) / 60:.0f} min")
