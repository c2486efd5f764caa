"""The reactions of a scenario are compared exactly."""

from __future__ import annotations

import pytest

from faults.harness.reactions import Chosen

KEY = "2026-11-27T10:00:00.000000Z#m-1#abc"


@pytest.fixture
def chosen() -> Chosen:
    """Alice chose again, Bob took his back, and Carol's second one came first."""
    chosen = Chosen()
    for user, timestamp, value in (
        ("alice", "1", "👍"),
        ("alice", "2", "🎉"),
        ("bob", "1", "👍"),
        ("bob", "3", None),
        ("carol", "5", "👍"),
        ("carol", "4", None),
    ):
        chosen.add(KEY, user, timestamp, value)
    return chosen


def test_the_last_accepted_reaction_of_each_user_is_expected(chosen: Chosen) -> None:
    item = {"key": KEY, "reactions": {"🎉": 1, "👍": 1}}

    assert chosen.accepted == 6
    assert chosen.problem(item, {"alice": "🎉", "carol": "👍"}) == ""


@pytest.mark.parametrize(
    ("reactions", "reactors", "problem"),
    [
        ({"👍": 2}, {"alice": "🎉", "carol": "👍"}, "shows {'👍': 2} instead of"),
        (None, {"alice": "🎉", "carol": "👍"}, "shows None instead of"),
        ({"🎉": 1, "👍": 1}, {"alice": "👍", "carol": "🎉"}, "has reactions of"),
        ({"🎉": 1, "👍": 1}, {"alice": "🎉", "bob": "👍", "carol": "👍"}, "has reactions of"),
    ],
)
def test_a_wrong_count_or_reactor_is_a_problem(
    chosen: Chosen, reactions: dict[str, int] | None, reactors: dict[str, str], problem: str
) -> None:
    item = {"key": KEY} if reactions is None else {"key": KEY, "reactions": reactions}

    assert problem in chosen.problem(item, reactors)


def test_a_message_that_nobody_reacted_to_shows_nothing() -> None:
    assert Chosen().problem({"key": KEY}, {}) == ""
