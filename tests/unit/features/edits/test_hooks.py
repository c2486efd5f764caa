"""P3: in every order of a message and its changes the result is one, and failures repeat what is not done."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.times import micros_of
from headrace.features.edits.change import changes_by
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


def test_a_message_that_changes_while_it_is_being_stored_is_stored_with_all_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = ChangeWorld()
    late = world.message("bob", "helo", age=60)
    world.put(world.change("bob", late, "hello").event)
    world.clock.advance(1)
    again = iter([world.change("bob", late, "hello again").event])
    store_awaited = world.store.store_awaited

    def at_the_same_moment(*given: Any) -> bool:
        assert world.put(*again) in ([None], [])
        return store_awaited(*given)

    monkeypatch.setattr(world.store, "store_awaited", at_the_same_moment)
    assert world.put(late) == [None]

    assert world.row(late)["message"] == "hello again"


def test_a_message_that_no_position_found_in_time_is_found_after_it_is_delivered_again() -> None:
    world = ChangeWorld()
    message = world.message("bob", "hello")
    world.put(message)
    assert STORED_AT not in world.row(message)

    world.clock.advance(60)
    world.put(message)

    assert micros_of(world.row(message)[STORED_AT]) == world.clock.now()


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

    assert len(rows) == 1
    assert not any(name in row for row in rows for name in ("bucketId", STORED_AT))
    assert rows[0]["userId"] == changes_by("bob")
