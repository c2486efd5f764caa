"""P12: only authors edit, only authors and owners delete, and a right that cannot be read is checked before storing."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import (
    Conflict,
    Forbidden,
    InvalidEvent,
    InvalidRequest,
    NotFound,
    PoisonRecord,
    StoreUnavailable,
)
from headrace.core.sender import ValidatedEvent
from headrace.core.times import SECOND, iso
from headrace.streams.chat.stream import UNCHECKED
from tests.worlds.change_world import ChangeWorld
from tests.worlds.message_changes import CHANGES
from tests.worlds.senders import sender

DAYS = 3 * 24 * 3600


def test_an_author_edits_and_deletes_and_an_owner_only_deletes() -> None:
    world = ChangeWorld()
    of_bob, of_alice = world.message("bob", "hello"), world.message("alice", "dinner", number=2)
    world.put(of_bob, of_alice)

    for user, message, edit, delete in (
        ("bob", of_bob, None, None),
        ("alice", of_bob, Forbidden, None),
        ("alice", of_alice, None, None),
        ("bob", of_alice, Forbidden, Forbidden),
        ("carol", of_bob, Forbidden, Forbidden),
    ):
        for text, expected in (("x", edit), (None, delete)):
            error = world.admit(user, world.change(user, message, text))
            assert (error and type(error)) == expected, (user, text)


def test_nobody_owns_an_open_room() -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello", "hall")
    world.put(message)

    assert world.admit("carol", world.change("bob", message)) is None  # the sender that a trusted caller names
    assert isinstance(world.admit("alice", world.change("alice", message)), Forbidden)


def test_who_has_left_a_room_deletes_and_no_longer_edits() -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello")
    world.put(message)
    world.clock.advance(1)
    world.ok("bob", "DELETE", "kitchen/members/bob")

    assert isinstance(world.admit("bob", world.change("bob", message, "x")), Forbidden)
    assert world.admit("bob", world.change("bob", message)) is None
    assert world.admit("bob", world.change("bob", message, "x"), is_trusted=True) is None


def test_what_cannot_be_changed_is_refused() -> None:
    world = ChangeWorld()
    joined = world.message("bob", "") | {"messageType": "JOIN", "memberId": "bob", "memberName": "Bob"}
    old, deleted = world.message("bob", "old", number=2, age=DAYS), world.message("bob", "gone", number=3)
    elsewhere = world.message("bob", "hello", "attic", number=4)
    world.put(joined, deleted)
    world.put(world.change("bob", deleted).event)

    assert isinstance(world.admit("bob", world.change("bob", joined)), Forbidden)
    assert isinstance(world.admit("bob", world.change("bob", old)), NotFound)
    assert isinstance(world.admit("bob", world.change("bob", elsewhere)), NotFound)
    assert isinstance(world.admit("bob", world.change("bob", deleted, "x")), Conflict)
    assert world.admit("bob", world.change("bob", deleted)) is None


@pytest.mark.parametrize("seconds", [301, 3600 * 24 * 365])
def test_no_message_can_have_a_time_that_no_sender_may_give_it(seconds: int) -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello")
    ahead = {**message, "timestamp": iso(world.clock.now() + seconds * SECOND)}

    assert isinstance(world.admit("bob", world.change("bob", ahead)), NotFound)


def test_a_message_that_has_expired_cannot_be_changed_before_its_row_is_gone() -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello")
    world.put(message)
    edit = world.change("bob", message, "x")
    world.clock.advance(32 * 24 * 3600)

    assert isinstance(world.admit("bob", edit), NotFound)


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": "2025-11-21T10:00:58.722861Z#m-1"},
        {"key": "m-1"},
        {"change": "edit"},
        {"message": "a deletion has no text"},
        {"userId": "alice"},
        {"timestamp": "2025-11-21T11:00:58.722861Z"},
    ],
)
def test_wrong_changes_are_refused_by_name(wrong: dict[str, str]) -> None:
    raw = {"roomId": "kitchen", "key": ChangeWorld().key(ChangeWorld().message("bob", "hello")), "change": "delete"}

    with pytest.raises((InvalidEvent, InvalidRequest)) as refused:
        CHANGES.accept(raw | wrong, sender("bob"))

    assert refused.value.details[0].field in (*wrong, "message")


def test_a_change_that_is_sent_again_is_one_row() -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello")
    first, again = (world.change("bob", message, "x", changeId="c-1") for _ in range(2))

    assert first.key == again.key
    assert first.key != world.change("bob", message, "y", changeId="c-1").key


def test_a_right_that_cannot_be_read_is_checked_before_the_change_is_stored() -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello")
    world.put(message)
    world.store.down = world.memberships.down = True
    changes = [world.change(user, message, "x" if user == "bob" else None) for user in ("bob", "alice", "carol")]
    assert [world.admit(each.event["changedBy"], each) for each in changes] == [None] * 3
    assert all(UNCHECKED in each.event for each in changes)
    (outcome, *_) = world.put(changes[0].event)
    assert isinstance(outcome, StoreUnavailable)

    world.store.down = world.memberships.down = False
    world.clock.advance(60)
    outcomes = world.put(*(each.event for each in changes))

    assert [each.reason for each in outcomes if isinstance(each, PoisonRecord)] == ["not_allowed"]
    assert world.row(message)["deletedBy"] == "alice"


def test_a_right_that_is_checked_later_is_that_of_the_time_of_acceptance() -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello")
    world.put(message)
    edit = _unchecked(world, "bob", world.change("bob", message, "bye"))
    world.clock.advance(30)
    world.ok("bob", "DELETE", "kitchen/members/bob")
    late = _unchecked(world, "bob", world.change("bob", message, "too late"))

    assert [isinstance(each, PoisonRecord) for each in world.put(edit, late)] == [False, True]

    assert world.row(message)["message"] == "bye"


def test_a_trusted_sender_who_is_checked_later_need_not_be_in_the_room() -> None:
    world = ChangeWorld()
    message = world.message("carol", "hello", age=60)
    world.put(message)
    edit = _unchecked(world, "carol", world.change("carol", message, "bye"), is_trusted=True)

    assert world.put(edit) == [None]

    row = world.row(message)
    assert row["message"] == "bye"
    assert not [row for row in world.write_path.rows() if UNCHECKED in row or "isTrusted" in row]


def test_an_edit_that_is_checked_after_a_deletion_is_no_dead_letter_with_its_text() -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello", age=60)
    world.put(message)
    edit = _unchecked(world, "bob", world.change("bob", message, "secret"))
    world.put(world.change("bob", message).event)

    assert world.put(edit) == [None]

    assert world.texts() == []


def _unchecked(world: ChangeWorld, user: str, change: ValidatedEvent, *, is_trusted: bool = False) -> dict[str, Any]:
    """The event of a change that was accepted while the tables were down."""
    world.store.down = world.memberships.down = True
    assert world.admit(user, change, is_trusted=is_trusted) is None
    world.store.down = world.memberships.down = False
    assert UNCHECKED in change.event
    return change.event
