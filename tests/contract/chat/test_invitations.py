"""One suite for every implementation of invitations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from headrace.core.errors import Conflict
from headrace.core.times import iso
from headrace.features.invitations.dynamodb import JOIN_TIME, OPEN_LIMIT, UNOPENED_LIMIT, DynamoInvitations
from headrace.runtime.aws import client
from headrace.streams.chat.rooms.consent import Invitation
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.memberships import Change, membership_event
from tests.contract.chat.conftest import MEMBERSHIPS
from tests.fakes.invitations import MemoryInvitations

AT = iso(1_763_719_258_000_000)
LATER = iso(1_763_719_259_000_000)


@pytest.fixture(params=["memory", "dynamodb"])
def invitations(request: pytest.FixtureRequest) -> Any:
    if request.param == "memory":
        return MemoryInvitations()
    request.getfixturevalue("tables")
    return DynamoInvitations(client("dynamodb"), MEMBERSHIPS)


def invitation(room_id: str = "kitchen", inviter: str = "alice", user_id: str = "bob", *, at: str = AT) -> Invitation:
    return Invitation(user_id, room_id, inviter, at, "member")


def test_an_invitation_is_open_until_it_is_removed(invitations: Any) -> None:
    assert invitations.get("bob", "kitchen") is None
    invitations.add(invitation())
    assert invitations.get("bob", "kitchen") == invitation()

    invitations.remove(invitation())
    invitations.remove(invitation())

    assert invitations.get("bob", "kitchen") is None


def test_an_invitation_is_accepted_until_it_is_withdrawn_or_replaced(invitations: Any) -> None:
    invitations.add(invitation())
    assert invitations.withdraw(invitation())
    assert not invitations.accept(invitation())
    assert invitations.get("bob", "kitchen") is None

    invitations.add(invitation(inviter="carol"))

    assert not invitations.accept(invitation())
    assert not invitations.set_role(invitation(), "owner")
    assert invitations.set_role(invitation(inviter="carol"), "owner")
    assert invitations.get("bob", "kitchen") == replace(invitation(inviter="carol"), role="owner")
    assert invitations.accept(invitation(inviter="carol"))
    assert invitations.accept(invitation(inviter="carol")), "an interrupted acceptance is repeated"


def test_an_accepted_invitation_cannot_be_withdrawn_also_if_another_one_replaced_it(invitations: Any) -> None:
    invitations.add(invitation())
    assert invitations.accept(invitation())
    assert not invitations.withdraw(invitation())

    invitations.add(invitation(inviter="carol"))

    assert not invitations.withdraw(invitation())
    invitations.remove(invitation())
    assert invitations.get("bob", "kitchen") == invitation(inviter="carol")
    invitations.remove(invitation(inviter="carol"))
    assert invitations.withdraw(invitation())
    invitations.add(invitation())
    assert invitations.withdraw(invitation()), "the mark went with the invitation"


def test_invitations_to_a_room_are_paged_by_user_and_no_inviter_is_among_them(invitations: Any) -> None:
    users = ["abe", "bob", "z\u00f6e"]
    for user_id in reversed(users):
        invitations.add(invitation(user_id=user_id))
    invitations.add(invitation("kitchens", user_id="bob"))
    invitations.add(invitation("attic", user_id="bob", inviter="kitchen"))

    first, after = invitations.of_room("kitchen", None, 2)
    rest, end = invitations.of_room("kitchen", after, 2)

    assert [each.user_id for each in first + rest] == users
    assert (after, end) == ("bob", None)
    assert invitations.of_room("cellar", None, 2) == ([], None)


def test_invitations_are_paged_by_room_and_no_other_users_are_among_them(invitations: Any) -> None:
    rooms = ["attic", "cellar", "k\u00fcche", "~"]
    for room_id in reversed(rooms):
        invitations.add(invitation(room_id))
    invitations.add(invitation("attic", user_id="bobby"))
    invitations.add(invitation("attic", user_id="alice", inviter="bob"))

    first, more = invitations.page("bob", None, 3)
    rest, end = invitations.page("bob", first[-1].room_id, 3)

    assert [each.room_id for each in first + rest] == rooms
    assert (more, end) == (True, False)


def test_open_invitations_of_one_inviter_are_bounded_and_closed_ones_do_not_count(invitations: Any) -> None:
    for number in range(OPEN_LIMIT):
        invitations.add(invitation(f"room-{number}"))
    invitations.add(invitation("room-0"))
    with pytest.raises(Conflict):
        invitations.add(invitation("one-more"))
    invitations.add(invitation("one-more", inviter="carol"))

    invitations.remove(invitation("room-3"))

    invitations.add(invitation("another"))
    assert invitations.get("bob", "another") == invitation("another")


def test_requests_at_the_same_time_make_a_bounded_number_of_invitations_together(
    tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is counted before any of them has written its invitation."""
    invitations = DynamoInvitations(client("dynamodb"), MEMBERSHIPS)
    write, waiting, refused = invitations._table.update, list(range(OPEN_LIMIT + 10)), []

    def invite_next() -> None:
        number = waiting.pop()
        try:
            invitations.add(invitation(f"room-{number}", at=iso(1_763_719_258_000_000 + number)))
        except Conflict:
            refused.append(number)

    def write_last(key: Any, change: str, *given: Any, **named: Any) -> Any:
        while "invitedBy" in change and waiting:
            invite_next()
        return write(key, change, *given, **named)

    monkeypatch.setattr(invitations._table, "update", write_last)
    invite_next()

    assert len(invitations.page("bob", None, 99)[0]) == OPEN_LIMIT
    assert len(refused) == 10


def test_an_interrupted_removal_does_not_count_for_ever(invitations: Any) -> None:
    for number in range(OPEN_LIMIT):
        invitations.add(invitation(f"room-{number}"))
    if isinstance(invitations, DynamoInvitations):
        key = {"userId": {"S": "#invited#bob"}, "roomId": {"S": "#room-3"}}
        invitations._table.call(invitations._table.client.delete_item, TableName=MEMBERSHIPS, Key=key)
    else:
        invitations.remove(invitation("room-3"))
    another = invitation("another", at=iso(1_763_719_258_000_001 + JOIN_TIME))

    invitations.add(another)

    assert invitations.get("bob", "another") == another


def test_rooms_to_which_one_user_adds_another_are_bounded_also_at_the_same_time(invitations: Any) -> None:
    def count(number: int, inviter: str = "alice", ended: frozenset[str] = frozenset()) -> bool:
        join = membership_event(AT, f"room-{number}")
        return invitations.count_added("bob", inviter, join, lambda counted: counted & ended)

    with ThreadPoolExecutor(10) as at_once:
        counted = list(at_once.map(count, range(30)))

    assert counted.count(True) == UNOPENED_LIMIT
    first, last = counted.index(True), counted.index(False)
    assert count(first), "a repeated call"
    assert not count(last)
    assert count(last, "carol")
    assert count(last, ended=frozenset({membership_event(AT, f"room-{first}")}))
    assert not count(first)
    invitations.block("bob", "carol", AT)
    assert not count(first, "carol"), "the user blocks them"


def test_the_invitations_of_a_blocked_inviter_are_gone_and_new_ones_are_stored(invitations: Any) -> None:
    invitations.add(invitation("kitchen"))
    invitations.add(invitation("attic", inviter="carol"))

    assert invitations.block("bob", "alice", AT) == (AT, {"kitchen"})
    assert invitations.block("bob", "alice", LATER) == (AT, set())
    invitations.add(invitation("cellar", at=LATER))
    assert invitations.block("bob", "alice", LATER) == (AT, set()), "the user never sees it"

    assert invitations.blocks([("bob", "alice"), ("alice", "bob")]) == {("bob", "alice")}
    assert [each.room_id for each in invitations.page("bob", None, 9)[0]] == ["attic"]
    invitations.add(invitation("cellar"))
    assert invitations.get("bob", "cellar") == invitation("cellar")
    invitations.unblock("bob", "alice")
    invitations.unblock("bob", "dora")
    assert invitations.blocked("bob", None, 9) == ([], None)


def test_an_invitation_that_another_inviter_made_since_survives_a_block(invitations: Any) -> None:
    invitations.add(invitation("kitchen"))
    invitations.add(invitation("kitchen", inviter="carol"))

    invitations.block("bob", "alice", AT)

    assert invitations.get("bob", "kitchen") == invitation("kitchen", inviter="carol")


def test_blocked_users_are_listed_in_order(invitations: Any) -> None:
    for other in ("carol", "alice", "dora"):
        invitations.block("bob", other, AT)
    invitations.add(invitation("kitchen", inviter="brigitte"))

    found: list[tuple[str, str]] = []
    after: str | None = None
    while True:
        page, after = invitations.blocked("bob", after, 2)
        found += page
        if after is None:
            break

    assert found == [("alice", AT), ("carol", AT), ("dora", AT)]


def test_invitations_are_no_members_of_any_room(tables: Any) -> None:
    """A user id may equal a room id."""
    invitations, memberships = (
        DynamoInvitations(client("dynamodb"), MEMBERSHIPS),
        Memberships(client("dynamodb"), MEMBERSHIPS),
    )
    invitations.add(invitation("kitchen", inviter="kitchen"))
    memberships.add(Change(user_id="dora", room_id="kitchen", kind="join", event=f"{AT}#x"))

    assert memberships.users_of("kitchen", None, 9) == (["dora"], False)
    assert memberships.rooms_of("bob", 9) == ([], False)
