"""Consent: strangers invite, and only the user adds a room to the user's conversations (P12)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.core.times import SECOND, iso
from headrace.streams.chat.rooms.invitations import ADDED_LIMIT, OPEN_LIMIT, UNOPENED_LIMIT
from headrace.streams.chat.rooms.memberships import JOIN_TIME, Change, Membership
from headrace.streams.chat.rooms.rooms import Room
from tests.worlds.room_world import GROUP, OPEN, TRUSTED, RoomWorld


@pytest.fixture
def world() -> RoomWorld:
    found = RoomWorld()
    found.ok("mallory", "PUT", "trap", GROUP)
    return found


def refused(answer: tuple[int, Any]) -> tuple[int, str]:
    status, body = answer
    return status, body["error"]["code"]


def invited_to(world: RoomWorld, user: str = "bob") -> list[str]:
    return [each["roomId"] for each in world.ok(user, "GET", f"{user}/invitations")["items"]]


def test_a_stranger_invites_and_does_not_add(world: RoomWorld) -> None:
    answer = world.ok("mallory", "PUT", "trap/members/bob", {"role": "owner"})

    now = iso(world.clock.now())
    assert (answer["joinedAt"], answer["invitedAt"]) == (None, now)
    assert not world.row("bob", "trap").joins
    (item,) = world.ok("bob", "GET", "bob/invitations")["items"]
    assert (item["roomId"], item["invitedBy"], item["invitedAt"], item["role"]) == ("trap", "mallory", now, "owner")
    assert world.join_messages() == [("JOIN", "mallory", now)], "an invitation is no message"


def test_an_invited_user_sees_the_room_and_not_its_messages(world: RoomWorld) -> None:
    world.ok("mallory", "PUT", "trap/members/bob")

    shown = world.ok("bob", "GET", "trap")

    assert (shown["membership"], shown["invitation"]["invitedBy"]) == (None, "mallory")
    assert refused(world.request("bob", "GET", "trap/members")) == (403, "forbidden")


def test_joining_accepts_since_the_invitation(world: RoomWorld) -> None:
    world.ok("mallory", "PUT", "trap/members/bob", {"role": "owner"})
    invited_at = iso(world.clock.now())
    world.clock.advance(3600)

    answer = world.ok("bob", "PUT", "trap/members/bob")

    assert (answer["joinedAt"], answer["role"], answer["invitedAt"]) == (invited_at, "owner", None)
    assert not world.invitations.rows
    assert ("JOIN", "bob", invited_at) in world.join_messages()


def test_an_interrupted_acceptance_is_completed_by_repeating_it(world: RoomWorld) -> None:
    world.ok("mallory", "PUT", "trap/members/bob")
    world.clock.advance(3600)
    world.write_path.broker.down = world.write_path.retry.down = True
    assert world.request("bob", "PUT", "trap/members/bob")[0] == 503
    world.write_path.broker.down = world.write_path.retry.down = False

    assert invited_to(world) == [], "the user is in the room"
    world.ok("bob", "PUT", "trap/members/bob")

    assert not world.invitations.rows
    assert [each for each in world.join_messages() if each[1] == "bob"]


@pytest.mark.parametrize("user", ["bob", "mallory"])
def test_an_invitation_is_declined_or_withdrawn_by_leaving(world: RoomWorld, user: str) -> None:
    world.ok("mallory", "PUT", "trap/members/bob")

    answer = world.ok(user, "DELETE", "trap/members/bob")

    assert (answer["invitedAt"], answer["joinedAt"], answer["leftAt"]) == (None, None, None)
    assert invited_to(world) == []
    assert refused(world.request("bob", "PUT", "trap/members/bob")) == (403, "forbidden")
    assert world.ok(user, "DELETE", "trap/members/bob") == answer, "a repeated request has another answer"


def test_declining_a_direct_room_again_has_the_same_answer(world: RoomWorld) -> None:
    room = world.ok("mallory", "PUT", "mallory/direct/bob")["roomId"]

    answers = [world.ok("bob", "DELETE", f"{room}/members/bob", body) for body in (None, None, {"forGood": True})]

    assert answers[0] == answers[1] == answers[2]
    assert ("bob", room) not in world.memberships.rows


def test_the_answer_to_an_invitation_has_its_role(world: RoomWorld) -> None:
    """It said ``member``, and joining gave ``owner``."""
    first = world.ok("mallory", "PUT", "trap/members/bob", {"role": "owner"})
    again = world.ok("mallory", "PUT", "trap/members/bob")

    assert again == first
    assert (first["role"], first["joinedAt"]) == ("owner", None)
    assert [each["role"] for each in world.ok("bob", "GET", "bob/invitations")["items"]] == ["owner"]
    assert world.ok("mallory", "PUT", "trap/members/bob", {"role": "member"})["role"] == "member"
    assert world.ok("bob", "PUT", "trap/members/bob")["role"] == "member"


def test_users_of_one_members_room_add_each_other(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")
    world.ok("alice", "PUT", "garden", GROUP)

    assert world.ok("alice", "PUT", "garden/members/bob")["joinedAt"] is not None


def test_an_open_room_makes_no_acquaintance(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "hall", OPEN)
    for user in ("mallory", "bob"):
        world.ok(user, "PUT", f"hall/members/{user}")

    assert world.ok("mallory", "PUT", "trap/members/bob")["joinedAt"] is None


def test_a_room_that_one_of_them_has_left_makes_no_acquaintance(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    for user in ("mallory", "bob"):
        world.bring("alice", "kitchen", user)
    world.clock.advance(1)
    world.ok("bob", "DELETE", "kitchen/members/bob")

    assert world.ok("mallory", "PUT", "trap/members/bob")["joinedAt"] is None


def test_imports_add_at_once(world: RoomWorld) -> None:
    assert world.ok("importer", "PUT", "trap/members/bob", scopes=TRUSTED)["joinedAt"] is not None


def test_a_direct_room_invites_a_stranger(world: RoomWorld) -> None:
    room = world.ok("mallory", "PUT", "mallory/direct/bob")["roomId"]
    invited_at = iso(world.clock.now())
    assert invited_to(world) == [room]
    world.clock.advance(600)

    shown = world.ok("bob", "PUT", "bob/direct/mallory")

    assert shown["membership"] == {"state": "in", "since": invited_at, "role": "owner"}
    assert invited_to(world) == []


def test_a_blocked_user_cannot_invite(world: RoomWorld) -> None:
    world.ok("mallory", "PUT", "trap/members/bob")

    blocked = world.ok("bob", "PUT", "bob/blocked/mallory")

    assert invited_to(world) == []
    assert world.ok("bob", "GET", "bob/blocked")["items"] == [blocked]
    assert refused(world.request("mallory", "PUT", "trap/members/bob")) == (403, "forbidden")
    assert refused(world.request("mallory", "PUT", "mallory/direct/bob")) == (403, "forbidden")
    assert world.ok("bob", "DELETE", "bob/blocked/mallory") == {"userId": "mallory", "blockedAt": None}
    assert world.ok("mallory", "PUT", "trap/members/bob")["invitedAt"] is not None


def test_one_inviter_has_a_bounded_number_of_open_invitations_to_a_user(world: RoomWorld) -> None:
    for number in range(OPEN_LIMIT + 1):
        world.ok("mallory", "PUT", f"trap-{number}", GROUP)
    for number in range(OPEN_LIMIT):
        world.ok("mallory", "PUT", f"trap-{number}/members/bob")

    assert refused(world.request("mallory", "PUT", f"trap-{OPEN_LIMIT}/members/bob")) == (409, "conflict")
    world.ok("bob", "DELETE", "trap-0/members/bob")
    world.ok("mallory", "PUT", f"trap-{OPEN_LIMIT}/members/bob")


def test_a_user_who_left_for_good_is_not_added_again(world: RoomWorld) -> None:
    world.ok("mallory", "PUT", "other", GROUP)
    for room in ("trap", "other"):
        world.bring("mallory", room, "bob")
    world.clock.advance(1)

    world.ok("bob", "DELETE", "trap/members/bob", {"forGood": True})

    assert [each.room_id for each in world.memberships.rooms_of("bob", 10)[0]] == ["other"]
    world.ok("mallory", "PUT", "trap/members/bob")
    assert invited_to(world) == ["trap"]
    world.ok("bob", "PUT", "trap/members/bob")
    assert {each.room_id for each in world.memberships.rooms_of("bob", 10)[0]} == {"other", "trap"}


def test_only_the_user_leaves_for_good(world: RoomWorld) -> None:
    world.bring("mallory", "trap", "bob")

    status, body = world.request("mallory", "DELETE", "trap/members/bob", {"forGood": True})

    assert (status, body["error"]["details"][0]["field"]) == (403, "forGood")
    assert world.row("bob", "trap").is_open


def test_an_owner_cannot_use_up_the_joins_of_a_member(world: RoomWorld) -> None:
    world.ok("mallory", "PUT", "other", GROUP)
    for room in ("trap", "other"):
        world.bring("mallory", room, "bob")

    for _ in range(2 * ADDED_LIMIT):
        world.clock.advance(1)
        world.ok("mallory", "DELETE", "trap/members/bob")
        world.ok("mallory", "PUT", "trap/members/bob")

    assert len(world.row("bob", "trap").joins) == ADDED_LIMIT


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "bob/invitations"), ("GET", "bob/blocked"), ("PUT", "bob/blocked/alice"), ("DELETE", "bob/blocked/alice")],
)
def test_p12_invitations_and_blocks_are_their_owners_alone(world: RoomWorld, method: str, path: str) -> None:
    assert refused(world.request("mallory", method, path)) == (403, "forbidden")


def test_users_cannot_block_themselves(world: RoomWorld) -> None:
    assert refused(world.request("bob", "PUT", "bob/blocked/bob")) == (400, "invalid_request")


def test_invitations_are_paged(world: RoomWorld) -> None:
    for number in range(5):
        world.ok("mallory", "PUT", f"trap-{number}", GROUP)
        world.ok("mallory", "PUT", f"trap-{number}/members/bob")

    found, query = [], {"limit": "2"}
    while True:
        page = world.ok("bob", "GET", "bob/invitations", query=query)
        found += [each["roomId"] for each in page["items"]]
        if not page["hasMore"]:
            break
        query["after"] = page["next"]

    assert found == [f"trap-{number}" for number in range(5)]


def test_a_join_by_an_owner_belongs_to_the_owner(world: RoomWorld) -> None:
    """Counts, top lists and the history of a user do not move when others add or remove them."""
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")
    world.ok("alice", "PUT", "garden", GROUP)
    world.clock.advance(1)
    world.ok("alice", "PUT", "garden/members/bob")
    world.clock.advance(1)
    world.ok("alice", "DELETE", "garden/members/bob")

    sent = [each for each in world.write_path.published() if each["roomId"] == "garden" and each["memberId"] == "bob"]

    assert sorted((each["messageType"], each["userId"], each["username"]) for each in sent) == [
        ("JOIN", "alice", "Alice"),
        ("LEAVE", "alice", "Alice"),
    ]


def test_another_owner_does_not_publish_the_join_again(world: RoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")
    world.bring("alice", "kitchen", "carol", {"role": "owner"})
    world.ok("alice", "PUT", "garden", GROUP)
    world.ok("alice", "PUT", "garden/members/carol", {"role": "owner"})
    world.ok("alice", "PUT", "garden/members/bob")
    before = len(world.write_path.published())

    world.ok("carol", "PUT", "garden/members/bob")

    assert len(world.write_path.published()) == before


def acquainted(world: RoomWorld) -> None:
    """Bob is in a room of Mallory's, as a member of any large room may be."""
    world.bring("mallory", "trap", "bob")
    world.memberships.mark_read("bob", "trap", "2025-11-21T10:00:00.000000Z")


def put_into(world: RoomWorld, numbers: Iterable[int]) -> list[bool]:
    """Whether Bob is in each of these new rooms of Mallory's, who puts him there."""
    found = []
    for number in numbers:
        world.clock.advance(1)
        world.ok("mallory", "PUT", f"zz-{number}", GROUP)
        found.append(world.ok("mallory", "PUT", f"zz-{number}/members/bob")["joinedAt"] is not None)
    return found


def test_an_acquaintance_fills_a_list_with_twenty_unopened_rooms_at_most(world: RoomWorld) -> None:
    acquainted(world)

    assert put_into(world, range(30)) == [True] * UNOPENED_LIMIT + [False] * 10
    assert invited_to(world) == [f"zz-{number}" for number in range(20, 30)]


def test_requests_at_the_same_time_add_to_twenty_unopened_rooms_at_most_together(
    world: RoomWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them decides before any of them has added the user."""
    acquainted(world)
    waiting, found = list(range(30)), []
    add = world.memberships.add

    def put_next() -> None:
        number = waiting.pop()
        world.ok("mallory", "PUT", f"zz-{number}", GROUP)
        found.append(world.ok("mallory", "PUT", f"zz-{number}/members/bob")["joinedAt"] is not None)

    def after_the_others(change: Change) -> Membership:
        while change.user_id == "bob" and waiting:
            put_next()
        return add(change)

    monkeypatch.setattr(world.memberships, "add", after_the_others)
    put_next()

    assert (found.count(True), found.count(False)) == (UNOPENED_LIMIT, 10)
    assert len(invited_to(world)) == 10


def test_a_room_counts_for_five_minutes_if_its_request_was_interrupted(
    world: RoomWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquainted(world)
    put_into(world, range(15))
    with monkeypatch.context() as interrupted:
        interrupted.setattr(world.memberships, "add", raise_unavailable)
        for number in range(15, 20):
            world.clock.advance(1)
            world.rooms.create(Room(f"zz-{number}", "members", "group", iso(world.clock.now()), "mallory"))
            assert world.request("mallory", "PUT", f"zz-{number}/members/bob")[0] == 503

    assert put_into(world, [19]) == [True], "repeating the request completes it"
    assert put_into(world, [20]) == [False]
    world.clock.advance(JOIN_TIME / SECOND)

    assert put_into(world, range(21, 26)) == [True] * 4 + [False]


def raise_unavailable(*_: object) -> Any:
    raise StoreUnavailable("memberships are unavailable")


def test_a_room_that_its_user_opens_makes_place_for_another(world: RoomWorld) -> None:
    acquainted(world)
    put_into(world, range(20))

    world.memberships.mark_read("bob", "zz-0", "2025-11-21T10:00:00.000000Z")
    world.ok("bob", "DELETE", "zz-1/members/bob")

    assert put_into(world, range(20, 23)) == [True, True, False]


def test_rooms_of_others_and_own_joins_do_not_count(world: RoomWorld) -> None:
    acquainted(world)
    for number in range(UNOPENED_LIMIT):
        world.ok("mallory", "PUT", f"import-{number}", GROUP)
        world.ok("importer", "PUT", f"import-{number}/members/bob", scopes=TRUSTED)
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")

    assert put_into(world, range(1)) == [True]


def test_a_block_leaves_the_rooms_into_which_the_blocked_user_put_one(world: RoomWorld) -> None:
    """For good, so that they are in no list. Rooms that one joined oneself stay."""
    acquainted(world)
    put_into(world, range(5))
    world.memberships.mark_read("bob", "zz-0", "2025-11-21T10:00:00.000000Z")
    world.ok("bob", "DELETE", "zz-1/members/bob")
    world.ok("bob", "PUT", "own", GROUP)

    world.ok("bob", "PUT", "bob/blocked/mallory")

    assert {each.room_id for each in world.memberships.rooms_of("bob", 99)[0]} == {"own", "trap"}
    assert not any(world.row("bob", f"zz-{number}").is_open for number in range(5))
    left = [each["roomId"] for each in world.write_path.published() if each["messageType"] == "LEAVE"]
    assert set(left) == {f"zz-{number}" for number in range(5)}
    assert refused(world.request("mallory", "PUT", "zz-0/members/bob")) == (403, "forbidden")


@pytest.mark.parametrize("path", ["zz-1/members/bob", "mallory/direct/bob"])
def test_a_block_ends_a_join_by_the_blocked_user_that_happens_at_the_same_time(
    world: RoomWorld, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    acquainted(world)
    world.ok("mallory", "PUT", "zz-1", GROUP)
    add = world.memberships.add

    def after_the_block(change: Change) -> Membership:
        if change.user_id == "bob":
            monkeypatch.setattr(world.memberships, "add", add)
            world.ok("bob", "PUT", "bob/blocked/mallory")
        return add(change)

    monkeypatch.setattr(world.memberships, "add", after_the_block)

    assert refused(world.request("mallory", "PUT", path)) == (403, "forbidden")
    assert {each.room_id for each in world.memberships.rooms_of("bob", 99)[0]} == {"trap"}


def test_a_block_that_was_interrupted_is_completed_by_repeating_it(world: RoomWorld) -> None:
    acquainted(world)
    put_into(world, range(3))
    world.write_path.broker.down = world.write_path.retry.down = True
    assert world.request("bob", "PUT", "bob/blocked/mallory")[0] == 503
    world.write_path.broker.down = world.write_path.retry.down = False

    world.ok("bob", "PUT", "bob/blocked/mallory")

    assert {each.room_id for each in world.memberships.rooms_of("bob", 99)[0]} == {"trap"}


def test_accepting_an_invitation_is_a_join_of_ones_own(world: RoomWorld) -> None:
    acquainted(world)
    put_into(world, range(1))
    world.ok("bob", "DELETE", "zz-0/members/bob", {"forGood": True})
    world.clock.advance(1)
    world.bring("mallory", "zz-0", "bob")

    world.ok("bob", "PUT", "bob/blocked/mallory")

    assert world.row("bob", "zz-0").is_open
