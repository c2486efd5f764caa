"""One suite for every retry lane, and the errors of SQS alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import RetryLaneUnavailable
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import MESSAGE_BYTES, RetryLane, batches, from_text, to_text
from headrace.runtime.aws import AwsClient, client
from tests.contract.emulators import sdk
from tests.fakes.queues import MemoryRetryLane
from tests.worlds.ports import free_port

Taken = Callable[[], list[RetryRecord]]


@pytest.fixture
def queue(ministack: str) -> Iterator[tuple[Any, str]]:
    with made_queue() as made:
        yield made


@contextmanager
def made_queue() -> Iterator[tuple[Any, str]]:
    sqs = sdk("sqs")
    url = sqs.create_queue(QueueName="RetryQueue", Attributes={"MaximumMessageSize": str(MESSAGE_BYTES)})["QueueUrl"]
    yield sqs, url
    sqs.delete_queue(QueueUrl=url)
    sqs.close()


def receive(sqs: Any, url: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    while got := sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=600
    ).get("Messages"):
        messages += got
    return messages


def as_handover(message: dict[str, Any]) -> RetryRecord:
    attributes = {name: value["StringValue"] for name, value in message.get("MessageAttributes", {}).items()}
    return RetryRecord(from_text(message["Body"], attributes.pop("encoding", None)), attributes)


@pytest.fixture(params=["memory", "ministack"])
def parts(request: pytest.FixtureRequest) -> Iterator[tuple[RetryLane, Taken]]:
    if request.param == "memory":
        memory = MemoryRetryLane()
        yield memory, lambda: memory.records
        return
    request.getfixturevalue(request.param)
    with made_queue() as (sqs, url):
        yield RetryLane(url, client("sqs")), lambda: [as_handover(message) for message in receive(sqs, url)]


def test_a_sent_record_is_stored_with_its_attributes(parts: tuple[RetryLane, Taken]) -> None:
    lane, taken = parts
    records = [RetryRecord(f"body {number}".encode(), {"reason": "StoreThrottled"}) for number in range(47)]

    assert lane.send(records) == [None] * 47

    assert sorted(taken(), key=lambda record: record.body) == sorted(records, key=lambda record: record.body)


def test_a_record_with_a_delay_is_received_later(queue: tuple[Any, str]) -> None:
    sqs, url = queue

    outcomes = RetryLane(url, client("sqs")).send([RetryRecord(b"now"), RetryRecord(b"later", delay=900)])

    assert outcomes == [None, None]

    assert [message["Body"] for message in receive(sqs, url)] == ["now"]
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    assert counts["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}


@pytest.mark.parametrize(
    "body", [b"", b"=", b"\x00\x01\x1f", b"\xff\xfe", "\ufffe 👩‍👩‍👧".encode(), b'{"a": "\\u0000"}', b"\r\n\t", b"%%%"]
)
def test_a_record_may_have_any_bytes(parts: tuple[RetryLane, Taken], body: bytes) -> None:
    lane, taken = parts

    assert lane.send([RetryRecord(body)]) == [None]

    assert [record.body for record in taken()] == [body]


@given(st.lists(st.integers(min_value=0, max_value=400_000), max_size=40))
def test_a_call_has_at_most_ten_entries_and_a_mebibyte(sizes: list[int]) -> None:
    groups = batches([RetryRecord(b"x" * size, {"reason": "why"}) for size in sizes])

    assert [int(entry["Id"]) for group in groups for entry in group] == list(range(len(sizes)))
    assert all(len(group) <= 10 for group in groups)
    assert all(sum(len(entry["MessageBody"]) for entry in group) <= MESSAGE_BYTES for group in groups)


@given(st.binary(max_size=100))
def test_bytes_are_restored_from_their_text(body: bytes) -> None:
    text, attributes = to_text(RetryRecord(body))

    assert from_text(text, attributes.get("encoding")) == body


def test_a_record_made_visible_is_received_at_once(queue: tuple[Any, str]) -> None:
    sqs, url = queue
    lane = RetryLane(url, client("sqs"))
    lane.send([RetryRecord(str(number).encode()) for number in range(12)])
    received = receive(sqs, url)

    lane.postpone({message["ReceiptHandle"]: 0 for message in received})

    assert len(receive(sqs, url)) == 12


def test_an_outdated_receipt_affects_no_other_record(queue: tuple[Any, str]) -> None:
    sqs, url = queue
    lane = RetryLane(url, client("sqs"))
    lane.send([RetryRecord(b"1")])
    (message,) = receive(sqs, url)

    lane.postpone({"outdated": 0, message["ReceiptHandle"]: 0})

    assert len(receive(sqs, url)) == 1


class Partial:
    """An SQS that takes only entries with an even number."""

    def __init__(self, sqs: AwsClient) -> None:
        self._sqs = sqs

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        good = [entry for entry in Entries if int(entry["Id"]) % 2 == 0]
        answer = self._sqs.send_message_batch(QueueUrl=QueueUrl, Entries=good)
        failed = [
            {"Id": entry["Id"], "Code": "InternalError", "SenderFault": False} for entry in Entries if entry not in good
        ]
        return {**answer, "Failed": failed}


def test_a_partial_failure_is_reported_per_record(queue: tuple[Any, str]) -> None:
    sqs, url = queue
    lane = RetryLane(url, Partial(client("sqs")))

    outcomes = lane.send([RetryRecord(str(number).encode()) for number in range(25)])

    assert [outcome is None for outcome in outcomes] == [number % 2 == 0 for number in range(25)]
    assert all(isinstance(outcome, RetryLaneUnavailable) for outcome in outcomes if outcome is not None)
    assert sorted(int(message["Body"]) for message in receive(sqs, url)) == list(range(0, 25, 2))


def test_a_missing_queue_or_service_is_a_result_without_an_exception(
    aws: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = RetryLane(f"{aws}/123456789012/Nowhere", client("sqs"))
    assert isinstance(missing.send([RetryRecord(b"1")])[0], RetryLaneUnavailable)
    assert "Unexpected" in capsys.readouterr().out

    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    away = RetryLane("http://127.0.0.1/123456789012/RetryQueue", client("sqs"))
    assert [type(outcome) for outcome in away.send([RetryRecord(b"1"), RetryRecord(b"2")])] == [
        RetryLaneUnavailable
    ] * 2
    away.postpone({"receipt": 0})
