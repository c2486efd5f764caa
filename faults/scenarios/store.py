"""Days on which DynamoDB, SQS or a record is the trouble."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from faults import poison
from faults.harness import PATIENCE, World
from faults.ledger import Row
from faults.load import Mint
from faults.proxies.proxy_faults import HalfThrottled, KillsWriters, LethalRecord, RefusesSome, down
from loadtest.events import batches, iso
from loadtest.sending import Sender

LETHAL = "the-record-that-kills"
REPEATED = 10_000
SETS_OF_POISON = 4
DEAD_AT_FIRST = 50


def dynamodb_down(world: World) -> Row:
    """DynamoDB cuts every connection for 30 s."""
    with world.day("dynamodb-down") as day:
        day.load.start()
        day.run_for(3)
        world.backing.judge_dynamodb(down)
        day.run_for(30)
        world.backing.judge_dynamodb()
        day.run_for(3)
        return day.end("30 s")


def dynamodb_throttles_half(world: World) -> Row:
    """DynamoDB leaves half of all items unprocessed, and refuses one call in ten."""
    judge = HalfThrottled(1)
    with world.day("dynamodb-throttles-half") as day:
        world.backing.judge_dynamodb(judge)
        day.load.start()
        day.run_for(15)
        return day.end(f"{judge.left:,} items were left over")


def persist_killed(world: World) -> Row:
    """persist_events is killed (-9) in the middle of a batch, before and after its rows are written, twelve times."""
    judge = KillsWriters(every=15, most=12)
    with world.day("persist-killed") as day:
        world.backing.judge_dynamodb(judge)
        day.load.start()
        day.wait_until(lambda: judge.killed >= 12)
        day.expect(judge.killed >= 12, f"only {judge.killed} workers were killed")
        return day.end(f"{judge.killed} kills")


def sqs_and_dynamodb_down(world: World) -> Row:
    """Neither DynamoDB nor SQS is there for 45 s: batches can be neither stored nor handed on, and must come again.

    Twenty returns at once would pass in milliseconds and end in ``parked``: persist_events has to hold a batch back.
    """
    with world.day("sqs-and-dynamodb-down") as day:
        day.load.start()
        day.run_for(3)
        world.backing.judge_sqs(down)
        world.backing.judge_dynamodb(down)
        day.run_for(45)
        world.backing.judge_sqs()
        world.backing.judge_dynamodb()
        day.run_for(3)
        return day.end("45 s")


def poison_of_all_kinds(world: World) -> Row:
    """One record in a hundred can never be stored, of eight kinds; its neighbours are stored at once."""
    with world.day("poison-of-all-kinds") as day:
        day.load.start()
        reasons: dict[bytes, str] = {}
        for number in range(SETS_OF_POISON):
            made = poison.make(number, iso(datetime.now(UTC)))
            reasons.update({each.mark: each.reason for each in made})
            world.lanes.publish([each.body for each in made if not each.encoding])
            for each in made:
                if each.encoding:
                    world.lanes.send_to_retry(each.body.decode(), each.encoding)
            day.run_for(2.5)
        day.expected_dead = reasons
        seconds = world.lanes.seconds_until_dead(len(reasons), 60)
        day.expect(seconds < 60, "the poison was not dead within a minute")
        return day.end(f"all dead {seconds:.0f} s after the last")


def redrive_under_failures(world: World) -> Row:
    """Dead letters are redriven, by two operators at once, one of whom gives up half-way, while new ones arrive."""
    with world.day("redrive-under-failures") as day:
        world.backing.judge_dynamodb(RefusesSome("01"))
        day.load.start()
        day.wait_until(lambda: world.lanes.depths().dead >= DEAD_AT_FIRST)
        world.backing.judge_dynamodb(RefusesSome("12"))
        with ThreadPoolExecutor(1) as impatient:
            gives_up = impatient.submit(world.operator.redrive, 1)
            moved = world.operator.redrive() + gives_up.result()
        before = world.lanes.depths().dead
        day.wait_until(lambda: world.lanes.depths().dead > before)
        world.backing.judge_dynamodb()
        day.load.stop()
        moved += world.redrive_all()
        day.expect(moved >= DEAD_AT_FIRST, f"only {moved} records were redriven")
        return day.end(f"{moved} redriven")


def lethal_record(world: World) -> Row:
    """A record kills (-9) whoever writes it, in either lane, until it is dead; its neighbours are stored."""
    judge = LethalRecord(LETHAL)
    with world.day("lethal-record", sockets=0, posts=4, rate=120) as day:
        world.backing.judge_dynamodb(judge)
        day.load.start()
        day.run_for(2)
        event = day.load.send_one(LETHAL)
        day.expected_dead = {event.message_id.encode(): ""}
        # Each try that kills hides the record for the retry lane's whole visibility.
        world.lanes.drain(2 * PATIENCE, lambda depths: depths.dead > 0)
        return day.end(lambda: f"{judge.killed} kills", heal=False)


def parked_batch(world: World) -> Row:
    """A record kills (-9) whoever writes it while SQS is away: its batch is parked, and an operator brings it back."""
    judge = LethalRecord(LETHAL)
    with world.day("parked-batch", sockets=0, posts=4, rate=120) as day:
        world.backing.judge_sqs(down)
        world.backing.judge_dynamodb(judge)
        day.load.start()
        day.run_for(2)
        day.load.send_one(LETHAL)
        # Twenty deliveries, each at most 5 s after the one before.
        world.lanes.drain(2 * PATIENCE, lambda depths: depths.parked > 0)
        world.heal()
        parked = world.operator.return_parked()
        day.expect(parked > 0, "nothing was parked")
        return day.end(f"{judge.killed} kills, {parked} brought back")


def three_times(world: World) -> Row:
    """The same 10,000 events are sent three times."""
    with world.day("three-times", sockets=0, posts=0) as day:
        user = "three-times-user"
        events = Mint("three-times", user, 0).events(REPEATED)
        socket = world.target.websocket(user, "chat:write", timeout=30.0)
        socket.open()
        try:
            for _ in range(3):
                sender = Sender(socket, day.load.checker, window=4, single=False)
                for part in batches(events):
                    sender.send(part)
                sender.finish()
        finally:
            socket.close()
        accepted = day.load.accepted
        day.expect(accepted == REPEATED, f"{accepted} of {REPEATED} were accepted")
        return day.end("3 x 10,000")


DAYS = (
    dynamodb_down,
    dynamodb_throttles_half,
    persist_killed,
    sqs_and_dynamodb_down,
    poison_of_all_kinds,
    redrive_under_failures,
    lethal_record,
    parked_batch,
    three_times,
)
