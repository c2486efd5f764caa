"""Where the rows of a scope are read."""

from __future__ import annotations

import pytest

from headrace.features.analytics.requests import Scope
from headrace.features.analytics.time_slots import Span
from tests.worlds.senders import CHAT


@pytest.mark.parametrize(
    ("narrowed", "index"),
    [
        ((), "TimeIndex"),
        ((("userId", "alice"),), "UserIndex"),
        ((("roomId", "kitchen"),), None),
        ((("roomId", "stadium~8"),), None),
    ],
    ids=["all", "user", "room", "shards"],
)
def test_a_scope_is_read_where_all_of_its_rows_are(narrowed: tuple[tuple[str, str], ...], index: str | None) -> None:
    """A sparse index lacks most rows of a room."""
    queries = list(Scope(CHAT, narrowed).queries("messages", Span(0, 1_000_000)))

    assert {each.index for each in queries} == {index}
