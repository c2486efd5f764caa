"""Who was put out stays out, whatever is requested at the same time and wherever it is interrupted (P12)."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.model.put_out import GUESTS, SKEWS, Asked, What, check
from tests.model.running import ASKED, settings_of

EXAMPLES = 200
SOMEONE = st.sampled_from(GUESTS)
OWNERS = st.sampled_from(["carol", "mallory", "mallory", "puppet"])
ROLES = st.sampled_from([None, None, "member", "owner"])
NOTHING = st.none()


def about(user: str) -> st.SearchStrategy[What]:
    """A request about this user."""
    asked = [("join", user), ("leave", user), ("import", "importer"), ("import leave", "importer")]
    asked += [("import old leave", "importer")]
    asked += [("block", user), ("unblock", user)] if user in ("puppet", "bob") else []
    others = OWNERS.filter(lambda by: by != user)
    return st.one_of(
        st.tuples(st.just("put"), others, st.just(user), ROLES),
        st.tuples(st.just("remove"), others, st.just(user), NOTHING),
        st.just(("join", user, user, None)),
        st.sampled_from(asked).map(lambda each: (*each, user, None)),
    )


def at_random(seed: int) -> list[int]:
    found = random.Random(seed)
    return [found.randrange(3) for _ in range(60)]


def runs_about(user: str) -> st.SearchStrategy[list[tuple[list[Asked], list[int]]]]:
    """Groups of requests, most of them about one user."""
    creator = st.sampled_from(["join", "leave"]).map(lambda name: (name, "carol", "carol", None))
    whats = st.one_of(about(user), about(user), about(user), SOMEONE.flatmap(about), creator)
    cuts = st.one_of(NOTHING, NOTHING, st.integers(0, 12))
    requests = st.lists(st.builds(Asked, whats, st.sampled_from(SKEWS), cuts), min_size=1, max_size=3)
    return st.lists(st.tuples(requests, st.integers(0, 2**32).map(at_random)), min_size=3, max_size=10)


runs = SOMEONE.flatmap(runs_about)


INVITED = ([Asked(("put", "mallory", "puppet", "owner"))], [])
AT_ONCE = ([Asked(("join", "puppet", "puppet", None)), Asked(("remove", "carol", "puppet", None))], [0] * 6 + [1] * 9)
"""puppet has accepted, but not yet joined, while carol removes puppet."""
OUTLIVED = ([Asked(("remove", "carol", "mallory", None))], [])
"""mallory, who invited puppet, goes before puppet joins."""
JOINED = ([Asked(("join", "puppet", "puppet", None))], [])


@pytest.mark.timeout(0 if ASKED else 120)
@settings_of(ASKED or EXAMPLES, derandomize=not ASKED)
@given(runs)
@example([INVITED, OUTLIVED, JOINED])
@example([INVITED, AT_ONCE])
def test_p12_who_was_put_out_reads_nothing_said_since(groups: list[tuple[list[Asked], list[int]]]) -> None:
    check(groups)
