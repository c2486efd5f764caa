"""The ledger of a scenario finds every broken promise."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from faults.harness.lanes import DeadLetter, Depths
from faults.harness.ledger import Row, reconcile, wrong_at_watchers, wrong_in_queues
from faults.scenarios.stage import MOST_AGAIN
from loadtest.checker.checker import Checker
from loadtest.client.chat_events import ChatEvent

EVENT = ChatEvent("room", "id-1", "2025-11-21T10:00:58.722861Z", "alice", "hello")
ITEM = {
    "roomId": "room",
    "messageId": "id-1",
    "timestamp": EVENT.timestamp,
    "userId": "alice",
    "message": "hello",
    "messageType": "TEXT",
}
DRAINED = Depths(0, 0, 0, 0)
LETTER = DeadLetter(json.dumps({"events": [{"messageId": "id-1"}]}).encode(), "refused_by_store")


def result(
    *items: dict[str, Any],
    dead: tuple[DeadLetter, ...] = (),
    expected_dead: dict[bytes, str] | None = None,
    depths: Depths = DRAINED,
) -> Row:
    """The row of a scenario that accepted one event and read ``items`` back."""
    checker = Checker()
    checker.attempted([EVENT])
    checker.accepted([EVENT], ["main"], 0.0)
    checker.begin_read()
    for item in items:
        checker.read(item)
    row = reconcile(checker, dead)
    wrong = wrong_in_queues(dead, expected_dead or {}, depths)
    return replace(row, dead=len(dead), problems=[*row.problems, *wrong])


def test_a_scenario_is_good_if_everything_accepted_is_stored() -> None:
    row = result(ITEM)

    assert (row.good, row.accepted, row.stored, row.lost) == (True, 1, 1, 0)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (result(), "lost 1: ['id-1']"),
        (result(dead=(LETTER,)), "1 unexpected dead letters"),
        (result(ITEM, expected_dead={b"poison-1": "not_json"}), "1 poison records are not dead"),
        (
            result(ITEM, dead=(DeadLetter(b"poison-1", "x"),), expected_dead={b"poison-1": "y"}),
            "dead for x instead of y",
        ),
        (
            result(ITEM, dead=(DeadLetter(b"poison-1", ""),) * 2, expected_dead={b"poison-1": ""}),
            "2 dead letters of 1",
        ),
        (result(ITEM, depths=Depths(0, 1, 0, 0)), "not drained"),
        (result(ITEM, depths=Depths(0, 0, 1, 0)), "not drained"),
    ],
)
def test_a_broken_promise_is_a_problem_of_the_scenario(row: Row, problem: str) -> None:
    assert any(found.startswith(problem) for found in row.problems), row.problems


def test_an_accepted_event_that_is_expected_to_be_dead_is_no_problem() -> None:
    """P4."""
    row = result(dead=(LETTER,), expected_dead={b"id-1": ""})

    assert (row.good, row.lost, row.dead) == (True, 0, 1)


@pytest.mark.parametrize("count", ["missing", "repeated", "pushedAgain", "fetchedAgain"])
def test_a_stall_may_lose_nothing_and_repeat_one_delivery_in_twenty(count: str) -> None:
    most = {"missing": 0, "repeated": 0, "pushed": 1050, "pushedAgain": 50, "fetched": 60, "fetchedAgain": 50}
    more = {**most, count: most[count] + 1}

    assert wrong_at_watchers(most, 1000, MOST_AGAIN) == []
    assert len(wrong_at_watchers(more, 1000, MOST_AGAIN)) == 1
    assert len(wrong_at_watchers(more, 1000)) == (not most[count])
