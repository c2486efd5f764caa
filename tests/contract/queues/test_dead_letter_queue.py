"""One suite for every dead lane: in memory, and on the SQS that the local stage runs."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.core.errors import DeadLaneUnavailable
from headrace.core.stream import TableSettings
from headrace.core.times import SystemClock
from headrace.features.operations.dead_letter import REDRIVEN, Filter
from headrace.features.operations.dead_letters import DeadLetters
from headrace.queues.dead_lane import TIMEOUT, DeadLane, ReceivedLetter
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import BASE64, ENCODING, RetryLane, to_text
from headrace.runtime.aws import client
from headrace.runtime.observability import Meter
from localstage.triggers.sqs_queue import SqsQueue, make_client
from tests.contract.emulators import sdk
from tests.contract.ministack import ACCOUNT, Ministack
from tests.fakes.queues import MemoryDeadLane, MemoryRetryLane
from tests.worlds.ports import free_port

TABLES = {"chat": TableSettings(table="table"), "probe": TableSettings(table="table")}
ALL = Filter()


class DeadLaneWorld:
    """A retry lane with its dead lane: records are sent and received until they are dead."""

    def __init__(self, retry: RetryLane, dead: DeadLane, receive: Callable[[], list[str]]) -> None:
        self.retry = retry
        self.dead = dead
        self._receive = receive
        self.letters = DeadLetters(dead, retry, TABLES, SystemClock(), {})

    def die(self, *records: RetryRecord) -> None:
        """Receive without success until SQS moves the records."""
        assert self.retry.send(records) == [None] * len(records)
        self.exhaust()

    def exhaust(self) -> None:
        while receipts := self._receive():
            self.retry.postpone(dict.fromkeys(receipts, 0))

    def bodies(self) -> list[str]:
        """The bodies in the dead lane."""
        return sorted(letter.held.body for letter in self.letters.find(ALL).letters)


@pytest.fixture(scope="module")
def ministack() -> Iterator[str]:
    emulator = Ministack()
    emulator.start()
    yield emulator.url
    emulator.close()


@pytest.fixture
def sqs(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, value in {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_ENDPOINT_URL": ministack,
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    made = sdk("sqs")
    yield made
    made.close()


@pytest.fixture
def queues(sqs: Any) -> Iterator[tuple[str, str]]:
    """A retry queue and its dead-letter queue, as the template makes them."""
    dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 5})
    retry = sqs.create_queue(QueueName="retry", Attributes={"VisibilityTimeout": "360", "RedrivePolicy": policy})
    yield retry["QueueUrl"], dead
    for url in (retry["QueueUrl"], dead):
        sqs.delete_queue(QueueUrl=url)


def dead_lane(url: str) -> DeadLane:
    return DeadLane(url, client("sqs", timeout=TIMEOUT))


def retry_lane(url: str) -> RetryLane:
    return RetryLane(url, client("sqs"))


@pytest.fixture(params=["memory", "sqs"])
def world(request: pytest.FixtureRequest) -> DeadLaneWorld:
    if request.param == "memory":
        memory = MemoryRetryLane(SystemClock())
        return DeadLaneWorld(
            memory, MemoryDeadLane(memory.dead), lambda: [message.receipt for message in memory.receive()]
        )
    sqs = request.getfixturevalue("sqs")
    retry, dead = request.getfixturevalue("queues")

    def receive() -> list[str]:
        answer = sqs.receive_message(QueueUrl=retry, MaxNumberOfMessages=10)
        return [message["ReceiptHandle"] for message in answer.get("Messages", ())]

    return DeadLaneWorld(retry_lane(retry), dead_lane(dead), receive)


def test_a_record_received_too_often_is_dead_with_body_and_attributes(world: DeadLaneWorld) -> None:
    began = time.time_ns() // 1_000_000 * 1000
    sent = RetryRecord(b"\xff not text", {"reason": "not_text", "firstFailedAt": "2025-01-01T00:00:00.000000Z"})

    world.die(sent)

    (letter,) = world.letters.find(ALL).letters
    body, attributes = to_text(sent)
    assert (letter.held.body, letter.held.attributes) == (body, attributes)
    assert letter.held.attributes[ENCODING] == BASE64
    assert letter.held.received >= 5
    assert began <= letter.held.sent_at <= time.time_ns() // 1000
    assert letter.reason == "not_text"


def test_a_received_record_is_hidden_until_its_timeout_or_release(world: DeadLaneWorld) -> None:
    world.die(*(RetryRecord(str(number).encode()) for number in range(3)))

    held = world.dead.receive(60)
    hidden = world.dead.receive(60)
    world.dead.release(held[:2])
    shown = world.dead.receive(60)

    assert len(held) == 3
    assert hidden == []
    assert {each.id for each in shown} == {each.id for each in held[:2]}


def test_a_deleted_record_is_gone(world: DeadLaneWorld) -> None:
    world.die(*(RetryRecord(str(number).encode()) for number in range(23)))
    held = [each for _ in range(3) for each in world.dead.receive(60)]

    assert world.dead.delete(held[:20]) == [True] * 20
    world.dead.release(held[20:])

    assert world.bodies() == sorted(each.body for each in held[20:])


def test_listing_finds_each_letter_once_and_hides_none_afterwards(world: DeadLaneWorld) -> None:
    """Fault 4."""
    world.die(*(RetryRecord(str(number).encode()) for number in range(137)))

    for _ in range(2):
        look = world.letters.find(ALL)
        assert sorted(int(letter.held.body) for letter in look.letters) == list(range(137))
        assert (look.scanned, look.complete) == (137, True)


def test_a_redrive_moves_matching_letters_once_with_their_first_time(world: DeadLaneWorld) -> None:
    """P11."""
    first = "2025-01-01T00:00:00.000000Z"
    world.die(
        RetryRecord(b"not json", {"firstFailedAt": first, "attempts": "1"}), RetryRecord(b"[]"), RetryRecord(b"{}")
    )

    progress = world.letters.redrive(world.letters.start(Filter(reason="not_json"), 500), Meter())
    assert (progress.moved, progress.failed, progress.done) == (1, 0, True)
    assert world.bodies() == ["[]", "{}"]
    world.exhaust()

    assert world.bodies() == ["[]", "not json", "{}"]
    (letter,) = world.letters.find(Filter(reason="not_json")).letters
    assert (letter.first_failed_at, letter.attempts) == (first, 11)
    assert letter.held.attributes[REDRIVEN] == progress.started_at
    again = world.letters.redrive(progress, Meter())
    assert again.moved == progress.moved, "the continued redrive moved a letter that died again"


def test_a_redrive_preserves_a_body_that_is_invalid_base64(world: DeadLaneWorld) -> None:
    world.die(RetryRecord(b"%%%", {ENCODING: BASE64}))

    world.letters.redrive(world.letters.start(ALL, 500), Meter())
    world.exhaust()

    assert [letter.reason for letter in world.letters.find(ALL).letters] == ["not_base64"]


def test_two_concurrent_redrives_move_every_letter(sqs: Any, queues: tuple[str, str]) -> None:
    """P11."""
    retry, dead = queues
    entries = [{"Id": str(number), "MessageBody": "not json"} for number in range(10)]
    for _ in range(10):
        sqs.send_message_batch(QueueUrl=dead, Entries=entries)
    both = [DeadLetters(dead_lane(dead), retry_lane(retry), TABLES, SystemClock(), {}) for _ in range(2)]
    moved = []
    interrupted = dead_lane(dead).receive(1)

    threads = [
        threading.Thread(target=lambda one=one: moved.append(one.redrive(one.start(ALL, 500), Meter()).moved))
        for one in both
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(1.1)
    moved.append(both[0].redrive(both[0].start(ALL, 500), Meter()).moved)

    assert len(interrupted) == 10
    assert sum(moved) == 100
    assert dead_lane(dead).receive(1) == []


def test_a_missing_queue_or_service_is_reported_as_unavailable(
    sqs: Any, ministack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = dead_lane(f"{ministack}/{ACCOUNT}/nowhere")
    with pytest.raises(DeadLaneUnavailable):
        missing.receive(1)

    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    away = dead_lane(f"http://127.0.0.1/{ACCOUNT}/dead")
    with pytest.raises(DeadLaneUnavailable):
        away.receive(1)
    held = ReceivedLetter("id", "receipt", "{}", {}, 0, 1)
    assert away.delete([held] * 11) == [False] * 11
    away.release([held])


def test_a_mapping_accepts_records_that_the_function_has_deleted(
    sqs: Any, queues: tuple[str, str], ministack: str
) -> None:
    """SQS reports success for it, and the emulator does not."""
    retry, _ = queues
    retry_lane(retry).send([RetryRecord(str(number).encode()) for number in range(3)])
    mapping = SqsQueue(retry, lambda: make_client(ministack, "us-east-1", (ACCOUNT, "test", None)))

    async def one_batch() -> tuple[int, int]:
        messages = await mapping.receive(10, 1)
        for message in messages[:2]:
            sqs.delete_message(QueueUrl=retry, ReceiptHandle=message["ReceiptHandle"])
        retry_lane(retry).postpone({messages[2]["ReceiptHandle"]: 0})
        kept = await mapping.delete(messages[:2])
        return kept, len(await mapping.receive(10, 1))

    assert asyncio.run(one_batch()) == (0, 1)
    mapping.close()
