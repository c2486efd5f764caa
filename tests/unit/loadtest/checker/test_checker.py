"""The checker finds every kind of broken promise (P1, P3, P4)."""

from __future__ import annotations

import pytest

from loadtest.checker.checker import Checker
from loadtest.client.chat_events import ChatEvent


def event(number: int, text: str = "hello", username: str | None = None) -> ChatEvent:
    return ChatEvent("room", f"id-{number}", f"2025-11-21T10:00:00.{number:06d}Z", "alice", text, username)


def row(said: ChatEvent, **changes: str) -> dict[str, str]:
    stored = {
        "roomId": said.room_id,
        "messageId": said.message_id,
        "timestamp": said.timestamp,
        "userId": said.user_id,
        "username": said.username or said.user_id,
        "message": said.message,
        "messageType": "TEXT",
    }
    return {**stored, **changes}


@pytest.fixture
def checker() -> Checker:
    """Ten events, attempted and acknowledged."""
    checker = Checker()
    for number in range(10):
        checker.attempted([event(number)])
        checker.accepted([event(number)], ["main"], 0.0)
    checker.begin_read()
    return checker


def read(checker: Checker, *numbers: int) -> None:
    for number in numbers:
        checker.read(row(event(number)))


def test_an_acknowledged_event_that_cannot_be_read_is_lost_and_named(checker: Checker) -> None:
    read(checker, *range(9))

    verdict = checker.verdict()

    assert verdict.lost == 1
    assert verdict.examples["lost"] == ("room/id-9",)
    assert not verdict.kept
    assert checker.missing() == {"room": {"id-9": event(9).timestamp}}


def test_an_event_read_twice_is_duplicated(checker: Checker) -> None:
    read(checker, *range(10), 3)

    verdict = checker.verdict()

    assert (verdict.duplicated, verdict.unexpected, verdict.lost) == (1, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"message": "hello "},
        {"timestamp": "2025-11-21T10:00:00.999999Z"},
        {"messageType": "JOIN"},
        {"userId": "mallory"},
    ],
)
def test_an_altered_event_is_lost_and_unexpected(checker: Checker, change: dict[str, str]) -> None:
    read(checker, *range(1, 10))
    checker.read(row(event(0), **change))

    verdict = checker.verdict()

    assert (verdict.lost, verdict.unexpected, verdict.stored) == (1, 1, 9)


def test_a_username_counts_only_where_the_sender_named_one() -> None:
    checker = Checker()
    named, unnamed = event(1, username="Alice"), event(2)
    for said in (named, unnamed):
        checker.attempted([said])
        checker.accepted([said], ["main"], 0.0)
    checker.begin_read()
    checker.read(row(named, username="Bob"))
    checker.read(row(unnamed, username="whatever the token says"))

    verdict = checker.verdict()

    assert (verdict.lost, verdict.unexpected) == (1, 1)
    assert verdict.examples["lost"] == ("room/id-1",)


def test_an_unanswered_event_may_be_there_or_not() -> None:
    checker = Checker()
    checker.attempted([event(1)])
    checker.attempted([event(2)])
    checker.begin_read()
    read(checker, 2)

    verdict = checker.verdict()

    assert verdict.kept
    assert not verdict.whole
    assert (verdict.attempted, verdict.accepted, verdict.unanswered, verdict.stored) == (2, 0, 2, 1)


def test_a_refused_event_is_not_lost_but_the_run_fails() -> None:
    checker = Checker()
    checker.attempted([event(1)])
    checker.refused(event(1), "invalid")
    checker.begin_read()

    verdict = checker.verdict()

    assert (verdict.refused, verdict.lost) == (1, 0)
    assert not verdict.whole
    assert checker.errors == {"invalid": 1}


def test_an_item_out_of_order_fails_the_run(checker: Checker) -> None:
    read(checker, *range(10))
    checker.disorder(row(event(3)))

    assert not checker.verdict().kept
