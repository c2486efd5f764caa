"""P8: intervals of one user in one room never overlap; late, repeated and reordered events give the same intervals."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.core.times import iso, micros_of
from headrace.streams.chat.rooms.memberships import Membership, fold, membership_event

START = 1_763_719_258_000_000
SPAN = 12

moments = st.integers(0, SPAN - 1)
events = st.lists(st.tuples(st.sampled_from(["join", "leave"]), moments, st.sampled_from("abc")), max_size=24)


def at(moment: int) -> str:
    return iso(START + moment)


def sets(log: list[tuple[str, int, str]]) -> tuple[set[str], set[str]]:
    joins = {membership_event(at(moment), event_id) for kind, moment, event_id in log if kind == "join"}
    leaves = {membership_event(at(moment), event_id) for kind, moment, event_id in log if kind == "leave"}
    return joins, leaves


def membership_of(log: list[tuple[str, int, str]]) -> Membership:
    joins, leaves = sets(log)
    return Membership("bob", "kitchen", frozenset(joins), frozenset(leaves))


def presence(log: list[tuple[str, int, str]]) -> list[bool]:
    """The brute-force model: at each time, joins apply first and leaves second."""
    inside, found = False, []
    for moment in range(SPAN):
        kinds = {kind for kind, when, _ in log if when == moment}
        if "join" in kinds:
            inside = True
        if "leave" in kinds:
            inside = False
        found.append(inside)
    return found


@given(events)
def test_intervals_cover_exactly_the_moments_at_which_the_model_is_inside(log: list[tuple[str, int, str]]) -> None:
    intervals = fold(*sets(log))

    assert [any(each.covers(at(moment)) for each in intervals) for moment in range(SPAN)] == presence(log)


@given(events)
def test_intervals_are_in_order_never_overlap_and_only_the_last_may_be_open(log: list[tuple[str, int, str]]) -> None:
    intervals = fold(*sets(log))

    for one, after in pairwise(intervals):
        assert one.left_at is not None
        assert one.joined_at < one.left_at <= after.joined_at
    assert all(each.left_at is None or each.joined_at < each.left_at for each in intervals)


@given(events)
def test_a_repeated_join_or_leave_adds_no_event(log: list[tuple[str, int, str]]) -> None:
    """Neither a second join without a leave nor a leave without a join adds an event."""
    membership = membership_of(log)
    later = iso(membership.next_time(START + SPAN))
    event = frozenset({membership_event(later, "z")})

    if membership.is_open:
        assert fold(membership.joins | event, membership.leaves) == membership.intervals
    else:
        assert fold(membership.joins, membership.leaves | event) == membership.intervals


@given(events, st.integers(-5, 30))
def test_a_join_or_leave_by_any_clock_comes_after_all_that_was_seen(log: list[tuple[str, int, str]], now: int) -> None:
    """A leave that came after a join was answered is never lost, however the clocks of two environments differ."""
    membership = membership_of(log)
    chosen = iso(membership.next_time(START + now))
    event = frozenset({membership_event(chosen, "z")})

    left = fold(membership.joins, membership.leaves | event)
    joined = fold(membership.joins | event, membership.leaves)

    assert all(each.left_at is not None for each in left)
    assert joined[-1].left_at is None
    assert micros_of(chosen) >= START + now
