"""Days on which the broker, the cache or a frozen function is the trouble."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from faults.harness import SETTLED, World
from faults.ledger import Row
from faults.proxies.proxy_faults import LosesConfirms, down, refuse
from faults.proxies.socket_owner import is_held

FROZEN_SECONDS = 190.0
FREEZES = "ReceiveFrame"
CUTS = 20


def broker_killed(world: World) -> Row:
    """The broker is killed (-9) and started again under load, twice."""
    with world.day("broker-killed") as day:
        day.load.start()
        for _ in range(2):
            day.run_for(5)
            world.backing.kill("RabbitMQ")
            day.run_for(4)
            world.backing.start_again("RabbitMQ")
        day.run_for(4)
        return day.end("twice")


def broker_down_from_start(world: World) -> Row:
    """The broker is down before the first event: the platform takes and stores events all the same, and says so."""
    with world.day("broker-down-from-start") as day:
        world.backing.kill("RabbitMQ")
        try:
            day.load.start()
            day.run_for(12)
            said = world.operator.status()
            day.expect(said["accepting"] == "retry", f"GET /status says accepting={said['accepting']!r}")
            day.expect(said["breakers"]["state"] == "open", f"GET /status says breakers={said['breakers']!r}")
            day.expect(day.load.checker.lanes["main"] == 0, "an event took the main lane without a broker")
            day.wait_until(lambda: day.walk().stored > 0)
            seen = day.walk().stored
            day.expect(seen > 0, "nothing was stored while the broker was down")
        finally:
            world.backing.start_again("RabbitMQ")
        return day.end(f"{seen:,} stored meanwhile")


def broker_and_sqs_down(world: World) -> Row:
    """Neither the broker nor SQS is there for 10 s: nothing can be kept, so nothing is accepted (503)."""
    with world.day("broker-and-sqs-down") as day:
        day.load.start()
        day.run_for(3)
        world.backing.judge_sqs(down)
        world.backing.broker.to_server = refuse
        world.backing.broker.cut()
        day.run_for(10)
        refused = day.load.refusals["unavailable"]
        world.backing.judge_sqs()
        world.backing.broker.pass_all()
        day.expect(refused > 0, "no event was refused although nothing could keep it")
        day.run_for(3)
        return day.end("10 s")


def broker_black_holed(world: World) -> Row:
    """Nothing gets through to the broker or back for 20 s, without a word."""
    with world.day("broker-black-holed") as day:
        day.load.start()
        day.run_for(3)
        world.backing.broker.stall()
        day.run_for(20)
        world.backing.broker.pass_all()
        day.run_for(4)
        return day.end("20 s")


def broker_memory_alarm(world: World) -> Row:
    """The broker's memory alarm blocks every publisher for 10 s."""
    with world.day("broker-memory-alarm") as day:
        day.load.start()
        day.run_for(3)
        world.backing.rabbitmqctl("set_vm_memory_high_watermark", "0.00001")
        try:
            day.run_for(10)
            retried = day.load.checker.lanes["retry"]
            day.expect(retried > 0, "no event took the retry lane while publishers were blocked")
        finally:
            world.backing.rabbitmqctl("set_vm_memory_high_watermark", "0.4")
        day.run_for(3)
        return day.end("10 s")


def confirms_lost(world: World) -> Row:
    """Connections are cut after the broker has the message and before its publisher knows, again and again."""
    with world.day("confirms-lost") as day:
        day.load.start()
        day.run_for(2)
        world.backing.broker.to_client = confirms = LosesConfirms(CUTS)
        # Cuts open the breaker, which leaves the broker alone for ten seconds at a time.
        day.wait_until(lambda: not confirms.left)
        day.expect(confirms.left == 0, f"{confirms.left} of {CUTS} confirms were not lost")
        return day.end(f"{CUTS} cuts")


def queue_deleted(world: World) -> Row:
    """A persist queue is deleted while it is empty (what is in a deleted queue is gone, on any system)."""
    with world.day("queue-deleted") as day:
        day.load.start()
        day.run_for(3)
        day.load.pause()
        world.lanes.drain(30)
        world.lanes.delete_queue("persist.0")
        day.load.go_on()
        day.run_for(5)
        returned = day.load.checker.lanes["retry"]
        day.expect(returned > 0, "no event took the retry lane while its queue was gone")
        # The schedule declares the topology again within a minute, and the mapping finds its queue.
        day.wait_until(lambda: world.lanes.has_queue("persist.0"))
        day.expect(world.lanes.has_queue("persist.0"), "the queue was not declared again")
        day.run_for(SETTLED)
        return day.end("healed by schedule")


def cache_killed(world: World) -> Row:
    """The cache is killed (-9) and comes back empty."""
    with world.day("cache-killed") as day:
        day.load.start()
        day.run_for(3)
        world.backing.kill("Redis")
        day.run_for(6)
        world.backing.start_again("Redis")
        day.run_for(3)
        return day.end()


def cache_silent(world: World) -> Row:
    """The cache takes connections and says nothing for 10 s."""
    with world.day("cache-silent") as day:
        day.load.start()
        day.run_for(3)
        world.backing.signal("Redis", signal.SIGSTOP)
        try:
            day.run_for(10)
        finally:
            world.backing.signal("Redis", signal.SIGCONT)
        day.run_for(2)
        return day.end("10 s")


def function_frozen(world: World, meanwhile: Callable[[], object] = lambda: None) -> Row:
    """receive_frame is frozen for three minutes between two publishes: the broker has hung up on it meanwhile.

    ``meanwhile`` may do anything that sends no frames.
    """
    with world.day("function-frozen", posts=0) as day:
        day.load.start()
        day.run_for(3)
        day.load.pause()
        held = {port for port in world.backing.broker.peers if is_held(port, FREEZES)}
        frozen = time.monotonic()
        with day.without():
            meanwhile()
        day.run_for(max(0.0, frozen + FROZEN_SECONDS - time.monotonic()))
        left = held & world.backing.broker.peers
        day.expect(len(held) > 0, "no worker that froze held a connection to the broker")
        day.expect(not left, f"the broker did not hang up on {len(left)} of {len(held)} frozen workers")
        before = day.load.checker.lanes["main"]
        day.load.go_on()
        day.wait_until(lambda: day.load.checker.lanes["main"] > before)
        day.run_for(3)
        day.expect(day.load.checker.lanes["main"] > before, "nothing was published to the broker after the freeze")
        return day.end(f"{(time.monotonic() - frozen) / 60:.0f} min")


DAYS = (
    broker_down_from_start,
    broker_killed,
    broker_black_holed,
    broker_memory_alarm,
    broker_and_sqs_down,
    confirms_lost,
    queue_deleted,
    cache_killed,
    cache_silent,
)
