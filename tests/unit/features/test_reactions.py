"""P3: a user has one reaction to a message, the last one, and a message shows how many users chose each value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.api.paging.request import ListRequest, PageRequest
from headrace.core.errors import (
    Conflict,
    Forbidden,
    InvalidEvent,
    InvalidRequest,
    NotFound,
    StoreThrottled,
    StoreUnavailable,
)
from headrace.core.items import Item
from headrace.core.times import DAY, SECOND, iso
from headrace.features.edits.change import changes_by
from headrace.features.reactions import counts as reactions
from headrace.features.reactions.accepting import MOST_REACTIONS
from headrace.features.reactions.counts import SHOWN_VALUES
from headrace.features.reactions.reactors import list_reactions
from headrace.streams.chat.messages.positions import STORED_AT
from headrace.streams.chat.rooms.requests import MessagePath
from tests.worlds.change_world import ChangeWorld
from tests.worlds.message_changes import CHANGES
from tests.worlds.requests import request_of
from tests.worlds.retention_world import RetentionWorld
from tests.worlds.room_world import caller
from tests.worlds.senders import CHAT, TABLE, sender


def shown(world: ChangeWorld, message: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = world.row(message).get("reactions", {})
    return found


def rows(world: ChangeWorld) -> list[Item]:
    return [row for row in world.write_path.rows() if row["roomId"].startswith("#reactions#")]


def stored(age: float = 60) -> tuple[ChangeWorld, dict[str, Any]]:
    """A world of an old message, of which every write applies its changes."""
    world = ChangeWorld()
    world.clock.advance(120)  # everybody was in the room at its time
    world.copies.subscribe("kitchen")
    message = world.message("bob", "hello", age=age)
    world.put(message)
    return world, message


def test_a_reaction_is_in_the_message_and_in_a_live_frame_once() -> None:
    world, message = stored()
    reaction = world.reaction("alice", message, "👍").event

    for _ in range(2):
        assert world.put(reaction) == [None]

    assert shown(world, message) == {"👍": 1}
    assert [texts for _, texts in world.copies.pushed()] == [["hello"], ["hello"]]
    row = world.row(message)
    assert row[STORED_AT] == iso(world.clock.now())  # readers of positions find it again


def test_a_message_that_comes_after_its_reactions_is_never_seen_without_them() -> None:
    world = ChangeWorld()
    world.copies.subscribe("kitchen")
    late = world.message("bob", "hello", age=60)
    assert world.put(world.reaction("alice", late, "👍").event) == [None]

    steps = world.storing([late])
    next(steps), next(steps), next(steps)
    assert shown(world, late) == {"👍": 1}  # before the hooks ran
    next(steps)

    assert shown(world, late) == {"👍": 1}


def test_a_deleted_message_takes_no_reaction() -> None:
    world, message = stored()
    world.put(world.change("bob", message).event)

    assert isinstance(world.admit("alice", world.reaction("alice", message, "👍")), Conflict)


def test_a_message_shows_twenty_values_and_says_that_there_are_more() -> None:
    world, message = stored()
    values = [f"v{number:02}" for number in range(SHOWN_VALUES + 1)]
    world.put(*(world.reaction(f"user-{value}", message, value).event for value in values))
    assert shown(world, message) == dict.fromkeys(values[:SHOWN_VALUES], 1)
    assert world.row(message)["moreReactions"] is True

    world.put(world.reaction("last", message, values[-1]).event)
    assert shown(world, message) == {values[-1]: 2} | dict.fromkeys(values[: SHOWN_VALUES - 1], 1)

    world.clock.advance(1)
    world.put(world.reaction("user-v19", message).event)
    assert "moreReactions" not in world.row(message)


def test_of_two_that_count_at_once_the_one_that_read_earlier_does_not_win() -> None:
    world, message = stored()
    world.put(world.reaction("alice", message, "👍").event)
    other = world.reaction("bob", message, "👍").event
    between(world, lambda: world.put(other))

    world.put(world.reaction("carol", message, "👎").event)

    assert shown(world, message) == {"👍": 2, "👎": 1}


def test_a_slow_count_does_not_win_over_a_later_reaction_that_changed_nothing() -> None:
    """Alice goes from 👍 to 👎 and back, and the count after 👎 is slow."""
    world, message = stored()
    world.put(world.reaction("alice", message, "👍").event)
    world.clock.advance(1)
    down = world.reaction("alice", message, "👎").event
    world.clock.advance(1)
    up = world.reaction("alice", message, "👍").event
    between(world, lambda: world.put(up))

    world.put(down)

    assert shown(world, message) == {"👍": 1}


def test_a_deletion_between_reading_and_counting_wins() -> None:
    world, message = stored()
    between(world, lambda: world.put(world.change("bob", message).event))

    world.put(world.reaction("alice", message, "👍").event)

    assert shown(world, message) == {}
    assert rows(world) == []


def fail_once(monkeypatch: pytest.MonkeyPatch, world: ChangeWorld, name: str) -> None:
    """The next call of a method of the table is throttled."""
    method = getattr(world.store, name)

    def throttled(*_arguments: object) -> Any:
        monkeypatch.setattr(world.store, name, method)
        raise StoreThrottled("too many writes")

    monkeypatch.setattr(world.store, name, throttled)


@pytest.mark.parametrize("name", ["forget_edits", "reactions_to", "forget_rows"])
def test_a_deleted_text_is_gone_though_what_follows_it_fails(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    world, message = stored()
    world.put(world.reaction("alice", message, "👍").event, world.change("bob", message, "secret").event)
    deletion = world.change("bob", message).event
    fail_once(monkeypatch, world, name)

    assert isinstance(world.put(deletion)[0], StoreThrottled)
    assert world.row(message)["message"] == ""
    assert world.put(deletion) == [None]
    assert rows(world) == []


def test_a_message_of_today_is_deleted_while_the_rooms_are_away(monkeypatch: pytest.MonkeyPatch) -> None:
    world, message = stored()
    deletion = world.change("bob", message).event

    def away(*_: object) -> None:
        raise StoreUnavailable("the rooms are away")

    monkeypatch.setattr(world.rooms, "retention", away)
    assert world.put(deletion) == [None]
    assert "hello" not in world.texts()


@pytest.mark.parametrize("name", ["forget_edits", "reactions_to"])
def test_an_edit_or_deletion_is_pushed_though_what_follows_it_fails(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The next try finds it applied, and has nothing to push."""
    world, message = stored()
    change = world.change("bob", message, *(["edited"] if name == "reactions_to" else [])).event
    reaction = world.reaction("alice", message, "👍").event
    fail_once(monkeypatch, world, name)

    outcomes = world.put(change, reaction)
    failed = [type(each) for each in outcomes if each is not None]
    assert failed == [StoreThrottled]  # which spends no try

    text = "edited" if name == "reactions_to" else ""
    assert [texts for _, texts in world.copies.pushed()] == [["hello"], [text]]
    assert world.put(change, reaction) == [None, None]
    assert shown(world, message) == ({"👍": 1} if text else {})


def test_reactions_to_a_message_that_is_not_stored_leave_one_row_for_each_user() -> None:
    world = ChangeWorld()
    message = world.message("bob", "late", age=60)
    for number in range(5):
        world.clock.advance(1)
        world.put(world.reaction("alice", message, f"v{number}").event)

    assert len(rows(world)) == 1


def test_a_count_reads_a_limited_number_of_reactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reactions, "READ_ROWS", 3)
    world, message = stored()
    world.put(*(world.reaction(f"user-{number}", message, "👍").event for number in range(4)))

    assert shown(world, message) == {"👍": 3}
    assert world.row(message)["moreReactions"] is True


def test_reactions_are_in_no_index_of_messages_and_the_rows_of_other_messages_stay_as_they_were() -> None:
    world, message = stored()
    other = world.message("bob", "other", number=2, age=60)
    world.put(other)
    before = world.row(other)
    world.put(world.reaction("alice", message, "👍").event)

    indexed = {index.partition_key for index in CHAT.indexes if index.partition_key != "roomId"} | {STORED_AT}
    assert [name for row in rows(world) for name in indexed if name in row] == ["userId"]
    assert [row["userId"] for row in rows(world)] == [changes_by("alice")]
    assert world.row(other) == before


def test_a_thousand_replaced_reactions_of_a_user_leave_one_row() -> None:
    world, message = stored()
    for number in range(1000):
        world.clock.advance(0.01)
        world.put(world.reaction("alice", message, f"v{number}").event)

    assert shown(world, message) == {"v999": 1}
    assert len(rows(world)) == 1


def test_equal_times_are_ordered_by_their_tags() -> None:
    world, message = stored()
    events = [world.reaction("alice", message, value).event for value in ("👍", "👎", "🎉")]
    last = max(events, key=lambda event: str(event["sender"]))

    for order in (events, events[::-1]):
        for event in order:
            world.put(event)
        assert shown(world, message) == {last["value"]: 1}


def test_who_may_write_reacts_to_what_they_may_read() -> None:
    world = ChangeWorld()
    before = world.message("alice", "before", age=0)
    world.clock.advance(60)
    world.bring("alice", "kitchen", "carol")
    world.clock.advance(60)
    after, in_hall = world.message("alice", "after", number=2), world.message("bob", "hello", "hall", number=3)
    world.put(before, after, in_hall)
    waiting = world.message("alice", "waits", number=4)

    def refusal(user: str, message: dict[str, Any], value: str | None = "👍") -> Any:
        error = world.admit(user, world.reaction(user, message, value))
        return error and type(error)

    assert (
        refusal("bob", before) == refusal("carol", after) == refusal("dave", in_hall) == refusal("bob", waiting) is None
    )
    assert refusal("carol", before) == NotFound  # she joined later
    assert refusal("dave", after) == Forbidden
    assert refusal("dave", {**in_hall, "roomId": "attic"}) == NotFound
    assert refusal("bob", {**after, "messageId": "m-9", "timestamp": iso(world.clock.now() - 3 * DAY)}) == NotFound
    world.clock.advance(1)
    world.ok("carol", "DELETE", "kitchen/members/carol")
    assert refusal("carol", after) == Forbidden
    assert refusal("carol", after, None) is None  # what she said she may take back
    trusted = world.reaction("dave", before, "👍")
    assert world.admit("dave", trusted, is_trusted=True) is None


def test_a_message_takes_a_thousand_reactions_and_few_values_that_it_does_not_show() -> None:
    world, message = stored()
    world.put(*(world.reaction(f"user-{number}", message, "👍").event for number in range(MOST_REACTIONS - 1)))
    assert world.admit("alice", world.reaction("alice", message, "👍")) is None
    world.put(world.reaction("alice", message, "👍").event)
    error = world.admit("bob", world.reaction("bob", message, "👍"))
    assert isinstance(error, Conflict)
    assert [(each.field, each.message) for each in error.details] == [("key", "has 1,000 reactions")]
    assert world.admit("alice", world.reaction("alice", message)) is None  # to take one back

    world, message = stored()
    values = [f"v{number:02}" for number in range(SHOWN_VALUES + 1)]
    world.put(*(world.reaction(f"user-{value}", message, value).event for value in values))
    error = world.admit("bob", world.reaction("bob", message, "v99"))
    assert isinstance(error, Conflict)
    assert [(each.field, each.got) for each in error.details] == [("value", "v99")]
    assert world.admit("bob", world.reaction("bob", message, "v00")) is None


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"value": ""}, "value"),
        ({"value": "x" * 33}, "value"),
        ({"message": "text"}, "message"),
        ({"changeId": "a/b"}, "changeId"),
        ({"userId": "alice"}, "userId"),
        ({"change": "delete"}, "value"),
    ],
)
def test_wrong_reactions_are_refused_by_name(wrong: dict[str, Any], field: str) -> None:
    world = ChangeWorld()
    raw = {"roomId": "kitchen", "key": world.key(world.message("bob", "hello")), "change": "react", "value": "👍"}

    with pytest.raises((InvalidEvent, InvalidRequest)) as refused:
        CHANGES.accept(raw | wrong, sender("bob"))

    assert {each.field for each in refused.value.details} == {field}


@pytest.mark.parametrize(
    ("one", "other", "value"), [("\u00e9", " e\u0301", "\u00e9"), ("❤", "❤️", "❤️"), ("❤️", "❤", "❤️")]
)
def test_values_that_look_alike_are_one(one: str, other: str, value: str) -> None:
    """Of an emoji with and without U+FE0F, the one that all fonts show in color."""
    world, message = stored()
    world.put(*(world.reaction(user, message, each).event for user, each in (("alice", one), ("bob", other))))

    assert shown(world, message) == {value: 2}


def test_reactions_expire_with_the_days_of_their_room() -> None:
    world = RetentionWorld()
    world.keep(7)
    world.persist = world.new_persist()
    message = world.message(1, 2)
    world.store(message)

    (row,) = world.store(reaction(world, message, "alice"))

    assert world.days_of(row) == pytest.approx(7, abs=0.001)


def reaction(world: RetentionWorld, message: dict[str, Any], user: str, value: str | None = "👍") -> dict[str, Any]:
    raw = {
        "roomId": message["roomId"],
        "key": world.key(message),
        "change": "react",
        "timestamp": iso(world.clock.now()),
    }
    return CHANGES.accept(raw | ({"value": value} if value else {}), world.sender(user)).event


def listed(world: RetentionWorld, message: dict[str, Any], user: str = "bob", limit: int = 2) -> list[tuple[str, str]]:
    """Who reacted with what, from all pages."""
    path, found, after = MessagePath(roomId=message["roomId"], key=world.key(message)), list[tuple[str, str]](), None
    while True:
        query = ListRequest(limit=limit, after=after)
        page = list_reactions(world.read, request_of(caller(user), world.clock.now(), path, query))
        found += [(each["userId"], each["value"]) for each in page["items"]]
        if not page["hasMore"]:
            return found
        after = page["next"]


def test_pages_have_no_reaction_that_is_replaced_but_not_deleted_yet() -> None:
    world = RetentionWorld()
    message = world.message(1, 1)
    world.store(message)
    table = world.write_path.store.tables[TABLE.table]
    for number, value in enumerate(("👍", "👎", None, "🎉")):
        world.clock.advance(1)
        for user in ("ann", "ann-b", "bob"):
            row = CHANGES.item(reaction(world, message, user, value if user != "bob" or number < 3 else None), 0, TABLE)
            table[row["roomId"], row["timestampSk"]] = row

    for limit in (1, 2, 3):
        assert sorted(listed(world, message, limit=limit)) == [("ann", "🎉"), ("ann-b", "🎉")]


def test_only_those_who_may_read_a_message_see_who_reacted_to_it() -> None:
    world = RetentionWorld()
    message, old = world.message(1, 1), world.message(2, 70)  # before bob was in the room
    world.store(message, old, reaction(world, message, "alice"), reaction(world, old, "alice"))

    assert listed(world, message) == [("alice", "👍")]
    with pytest.raises(Forbidden):
        listed(world, message, "carol")
    with pytest.raises(NotFound):
        listed(world, old)
    with pytest.raises(NotFound):
        listed(world, world.message(3))
    world.store(world.change(message, None))
    assert listed(world, message) == []


def test_a_page_of_the_room_shows_the_reactions() -> None:
    world = RetentionWorld()
    message = world.message(1, 1)
    world.store(message)
    world.texts()
    world.texts()  # in the cache now
    world.clock.advance(0.1)

    world.store(reaction(world, message, "alice"))

    page = world.read.history.room(caller("bob"), "kitchen", PageRequest(limit=20))
    assert '"reactions":{"👍":1}' in page.items[0]


def between(world: ChangeWorld, other: Callable[[], object]) -> None:
    """Let ``other`` happen once, after the next count has read the reactions and before it is written."""
    read = world.store.reactions_to

    def reactions_to(room_id: str, key: str) -> Iterator[Item]:
        found = list(read(room_id, key))
        world.store.reactions_to = read  # type: ignore[method-assign]
        world.clock.advance(1 / SECOND)
        other()
        return iter(found)

    world.store.reactions_to = reactions_to  # type: ignore[method-assign]
