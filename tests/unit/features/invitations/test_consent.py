"""Consent: strangers invite, and only the user adds a room to the user's conversations (P12)."""

from __future__ import annotations

import json
import re

import pytest

from headrace.core.times import iso
from headrace.features.invitations.consent import ADDED_LIMIT
from tests.worlds.room_world import GROUP, OPEN
from tests.worlds.whole_room_world import WholeRoomWorld


@pytest.fixture
def world() -> WholeRoomWorld:
    found = WholeRoomWorld()
    found.ok("mallory", "PUT", "trap", GROUP)
    return found


def test_a_stranger_invites_and_does_not_add(world: WholeRoomWorld) -> None:
    answer = world.ok("mallory", "PUT", "trap/members/bob", {"role": "owner"})

    now = iso(world.clock.now())
    assert (answer["joinedAt"], answer["invitedAt"]) == (None, now)
    assert not world.row("bob", "trap").joins
    (item,) = world.ok("bob", "GET", "bob/invitations")["items"]
    assert (item["roomId"], item["invitedBy"], item["invitedAt"], item["role"]) == ("trap", "mallory", now, "owner")
    assert world.join_messages() == [("JOIN", "mallory", now)], "an invitation is no message"


def test_an_invited_user_sees_the_room_and_not_its_messages(world: WholeRoomWorld) -> None:
    world.ok("mallory", "PUT", "trap/members/bob")

    shown = world.ok("bob", "GET", "trap")

    assert (shown["membership"], shown["invitation"]["invitedBy"]) == (None, "mallory")
    assert world.refused("bob", "GET", "trap/members") == (403, "forbidden")


def test_joining_accepts_since_the_invitation(world: WholeRoomWorld) -> None:
    world.ok("mallory", "PUT", "trap/members/bob", {"role": "owner"})
    invited_at = iso(world.clock.now())
    world.clock.advance(3600)

    answer = world.ok("bob", "PUT", "trap/members/bob")

    assert (answer["joinedAt"], answer["role"], answer["invitedAt"]) == (invited_at, "owner", None)
    assert not world.invitations.rows
    assert ("JOIN", "bob", invited_at) in world.join_messages()


def test_an_interrupted_acceptance_is_completed_by_repeating_it(world: WholeRoomWorld) -> None:
    world.ok("mallory", "PUT", "trap/members/bob")
    world.clock.advance(3600)
    world.write_path.broker.down = world.write_path.retry.down = True
    assert world.request("bob", "PUT", "trap/members/bob")[0] == 503
    world.write_path.broker.down = world.write_path.retry.down = False

    assert world.invited_to() == [], "the user is in the room"
    world.ok("bob", "PUT", "trap/members/bob")

    assert not world.invitations.rows
    assert [each for each in world.join_messages() if each[1] == "bob"]


@pytest.mark.parametrize("user", ["bob", "mallory"])
def test_an_invitation_is_declined_or_withdrawn_by_leaving(world: WholeRoomWorld, user: str) -> None:
    world.ok("mallory", "PUT", "trap/members/bob")

    answer = world.ok(user, "DELETE", "trap/members/bob")

    assert (answer["invitedAt"], answer["joinedAt"], answer["leftAt"]) == (None, None, None)
    assert world.invited_to() == []
    assert world.refused("bob", "PUT", "trap/members/bob") == (403, "forbidden")
    assert world.ok(user, "DELETE", "trap/members/bob") == answer, "a repeated request has another answer"


def test_declining_a_direct_room_again_has_the_same_answer(world: WholeRoomWorld) -> None:
    room = world.ok("mallory", "PUT", "mallory/direct/bob")["roomId"]

    answers = [world.ok("bob", "DELETE", f"{room}/members/bob", body) for body in (None, None, {"forGood": True})]

    assert answers[0] == answers[1] == answers[2]
    assert ("bob", room) not in world.memberships.rows


def test_the_answer_to_an_invitation_has_its_role(world: WholeRoomWorld) -> None:
    """It said ``member``, and joining gave ``owner``."""
    first = world.ok("mallory", "PUT", "trap/members/bob", {"role": "owner"})
    again = world.ok("mallory", "PUT", "trap/members/bob")

    assert again == first
    assert (first["role"], first["joinedAt"]) == ("owner", None)
    assert [each["role"] for each in world.ok("bob", "GET", "bob/invitations")["items"]] == ["owner"]
    assert world.ok("mallory", "PUT", "trap/members/bob", {"role": "member"})["role"] == "member"
    assert world.ok("bob", "PUT", "trap/members/bob")["role"] == "member"


def test_an_open_room_makes_no_acquaintance(world: WholeRoomWorld) -> None:
    world.ok("alice", "PUT", "hall", OPEN)
    for user in ("mallory", "bob"):
        world.ok(user, "PUT", f"hall/members/{user}")

    assert world.ok("mallory", "PUT", "trap/members/bob")["joinedAt"] is None


def test_a_room_that_one_of_them_has_left_makes_no_acquaintance(world: WholeRoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    for user in ("mallory", "bob"):
        world.bring("alice", "kitchen", user)
    world.clock.advance(1)
    world.ok("bob", "DELETE", "kitchen/members/bob")

    assert world.ok("mallory", "PUT", "trap/members/bob")["joinedAt"] is None


def test_a_direct_room_invites_a_stranger(world: WholeRoomWorld) -> None:
    room = world.ok("mallory", "PUT", "mallory/direct/bob")["roomId"]
    invited_at = iso(world.clock.now())
    assert world.invited_to() == [room]
    world.clock.advance(600)

    shown = world.ok("bob", "PUT", "bob/direct/mallory")

    assert shown["membership"] == {"state": "in", "since": invited_at, "role": "owner"}
    assert world.invited_to() == []


def test_a_user_sees_no_invitation_of_somebody_whom_they_block(world: WholeRoomWorld) -> None:
    world.ok("mallory", "PUT", "trap/members/bob")

    blocked = world.ok("bob", "PUT", "bob/blocked/mallory")
    world.ok("mallory", "PUT", "trap/members/bob")
    world.ok("mallory", "PUT", "mallory/direct/bob")

    assert world.invited_to() == []
    assert world.ok("bob", "GET", "bob/blocked")["items"] == [blocked]
    assert world.refused("bob", "PUT", "trap/members/bob") == (403, "forbidden")
    assert world.ok("bob", "DELETE", "bob/blocked/mallory") == {"userId": "mallory", "blockedAt": None}
    assert "trap" in world.invited_to()


def test_a_block_looks_to_the_blocked_user_as_if_the_other_did_not_answer(world: WholeRoomWorld) -> None:
    for name in ("bob", "carol"):
        world.ok("mallory", "PUT", f"of-{name}", GROUP)
    world.ok("bob", "PUT", "bob/blocked/mallory")

    def answers(user: str) -> list[str]:
        """What the same requests about a user answer, without the names that the requests have."""
        found = [
            world.ok("mallory", "PUT", f"of-{user}/members/{user}"),
            world.ok("mallory", "PUT", f"of-{user}/members/{user}"),
            world.ok("mallory", "GET", f"of-{user}/invited"),
            world.ok("mallory", "PUT", f"mallory/direct/{user}"),
            world.ok("mallory", "DELETE", f"of-{user}/members/{user}"),
        ]
        return [re.sub(rf"{user}|direct:\w+", "…", json.dumps(each)) for each in found]

    assert answers("bob") == answers("carol")


def test_a_user_who_left_for_good_is_not_added_again(world: WholeRoomWorld) -> None:
    world.ok("mallory", "PUT", "other", GROUP)
    for room in ("trap", "other"):
        world.bring("mallory", room, "bob")
    world.clock.advance(1)

    world.ok("bob", "DELETE", "trap/members/bob", {"forGood": True})

    assert [each.room_id for each in world.memberships.rooms_of("bob", 10)[0]] == ["other"]
    world.ok("mallory", "PUT", "trap/members/bob")
    assert world.invited_to() == ["trap"]
    world.ok("bob", "PUT", "trap/members/bob")
    assert {each.room_id for each in world.memberships.rooms_of("bob", 10)[0]} == {"other", "trap"}


def test_only_the_user_leaves_for_good(world: WholeRoomWorld) -> None:
    world.bring("mallory", "trap", "bob")

    status, body = world.request("mallory", "DELETE", "trap/members/bob", {"forGood": True})

    assert (status, body["error"]["details"][0]["field"]) == (403, "forGood")
    assert world.row("bob", "trap").is_open


def test_an_owner_cannot_use_up_the_joins_of_a_member(world: WholeRoomWorld) -> None:
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
def test_p12_invitations_and_blocks_are_their_owners_alone(world: WholeRoomWorld, method: str, path: str) -> None:
    assert world.refused("mallory", method, path) == (403, "forbidden")


def test_users_cannot_block_themselves(world: WholeRoomWorld) -> None:
    assert world.refused("bob", "PUT", "bob/blocked/bob") == (400, "invalid_request")


def test_invitations_are_paged(world: WholeRoomWorld) -> None:
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


def test_a_join_by_an_owner_belongs_to_the_owner(world: WholeRoomWorld) -> None:
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


def test_another_owner_does_not_publish_the_join_again(world: WholeRoomWorld) -> None:
    world.ok("alice", "PUT", "kitchen", GROUP)
    world.bring("alice", "kitchen", "bob")
    world.bring("alice", "kitchen", "carol", {"role": "owner"})
    world.ok("alice", "PUT", "garden", GROUP)
    world.ok("alice", "PUT", "garden/members/carol", {"role": "owner"})
    world.ok("alice", "PUT", "garden/members/bob")
    before = len(world.write_path.published())

    world.ok("carol", "PUT", "garden/members/bob")

    assert len(world.write_path.published()) == before
