"""P3: in every order of a message and its changes the result is one, and failures repeat what is not done."""

from __future__ import annotations

from headrace.core.errors import FollowUpUnavailable
from headrace.core.times import micros_of
from headrace.streams.chat.change import changes_by
from headrace.streams.chat.messages.positions import STORED_AT, UNLOGGED
from tests.worlds.change_world import ChangeWorld


def test_a_change_is_in_the_message_and_in_a_live_frame_once() -> None:
    world = ChangeWorld()
    world.copies.subscribe("kitchen")
    message = world.message("bob", "helo", age=60)
    world.put(message)
    edit = world.change("bob", message, "hello").event

    for _ in range(2):
        assert world.put(edit) == [None]

    assert world.copies.pushed() == [("kitchen", ["helo"]), ("kitchen", ["hello"])]
    row = world.row(message)
    assert (row["message"], row["editedAt"], row["firstText"]) == ("hello", edit["timestamp"], "helo")


def test_a_message_that_comes_after_its_changes_never_shows_its_first_text() -> None:
    world = ChangeWorld()
    world.copies.subscribe("kitchen")
    late, deleted = world.message("bob", "helo", age=60), world.message("bob", "secret", number=2, age=60)
    assert world.put(world.change("bob", late, "hello").event, world.change("bob", deleted).event) == [None, None]

    for _ in range(2):
        assert world.put(late, deleted) == [None, None]

    assert world.copies.pushed() == [("kitchen", ["hello", ""])] * 2
    assert world.texts().count("helo") == 1  # the first text, for its author
    assert "secret" not in world.texts()


def test_the_change_of_a_young_message_is_applied_until_later_writes_of_the_message_apply_it() -> None:
    world = ChangeWorld()
    message = world.message("bob", "helo")
    edit = world.change("bob", message, "hello").event
    world.put(message)
    assert isinstance(world.put(edit)[0], FollowUpUnavailable)
    assert world.row(message)["message"] == "hello"

    world.put(message)  # sent again
    assert world.row(message)["message"] == "helo"
    world.clock.advance(21)
    assert world.put(edit) == [None]

    assert world.row(message)["message"] == "hello"
    world.put(message)
    assert world.row(message)["message"] == "hello"


def test_without_the_table_a_change_waits_in_its_lane_and_a_late_message_too() -> None:
    world = ChangeWorld()
    message, late = world.message("bob", "helo", age=60), world.message("bob", "hi", number=2, age=60)
    world.put(message)
    edit = world.change("bob", message, "hello").event
    steps = world.storing([edit])
    next(steps), next(steps)
    world.store.down = True
    (outcome,) = next(steps)

    assert isinstance(outcome, FollowUpUnavailable)
    assert world.put(late)[0] is not None
    world.store.down = False
    assert world.put(edit, late) == [None, None]
    assert world.row(message)["message"] == "hello"


def test_an_edit_reads_no_more_when_a_thousand_came_before() -> None:
    world = ChangeWorld()
    message = world.message("bob", "helo", age=60)
    world.put(message)
    for number in range(1000):
        world.clock.advance(0.01)
        world.put(world.change("bob", message, f"hello {number}").event)
    before = world.store.changes_read
    world.clock.advance(0.01)

    world.put(world.change("bob", message, "hello").event, message)

    assert world.row(message)["message"] == "hello"
    assert world.store.changes_read - before <= 3


def test_the_log_of_the_room_has_no_text_from_before_a_change() -> None:
    world = ChangeWorld()
    world.copies.subscribe("kitchen")
    message = world.message("bob", "secret", age=60)
    world.put(message, world.message("bob", "other", number=2, age=60))
    at = world.copies.log.since({"kitchen": ""})["kitchen"].tag

    world.put(world.change("bob", message).event)

    kept = world.copies.log.since({"kitchen": at})["kitchen"]
    assert kept.tag != at
    assert kept.frames is None  # who resumes reads the table
    world.put(world.message("bob", "next", number=3))
    (frame,) = world.copies.log.since({"kitchen": kept.tag})["kitchen"].frames or ()
    assert "next" in frame.items


def test_a_change_that_no_log_has_is_found_by_the_next_check_of_each_client() -> None:
    world = ChangeWorld()
    message = world.message("bob", "helo", age=60)
    world.put(message)
    world.copies.cache.down = True

    assert world.put(world.change("bob", message, "hello").event) == [None]

    assert micros_of(world.row(message)[STORED_AT]) == world.clock.now() + UNLOGGED


def test_changes_move_no_room_and_count_in_no_window() -> None:
    world = ChangeWorld()
    message = world.message("bob", "helo", age=60)
    world.put(message, world.change("bob", message, "hello").event)

    rows = [row for row in world.write_path.rows() if row["roomId"].startswith("#")]

    assert len(rows) == 2
    assert not any(name in row for row in rows for name in ("bucketId", STORED_AT))
    assert rows[1]["userId"] == changes_by("bob")
