"""One suite for every place where changes of messages are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.core.times import iso
from headrace.features.edits.change import Change, fold
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.runtime.aws import client
from headrace.stage.registry import subject_of as message_of
from headrace.streams.chat.messages.dynamodb import MessageTable
from tests.contract.tables import described, made
from tests.fakes.changes import MemoryChanges
from tests.worlds.message_changes import DynamoMessageChanges
from tests.worlds.ports import free_port
from tests.worlds.write_path import row_of

T = [iso(1_763_719_258_000_000 + number) for number in range(20)]
KEY = f"{T[0]}#m-1#aaaaaaaaaaaa"
MESSAGE = {"roomId": "kitchen~4", "timestampSk": KEY, "userId": "alice", "message": "helo", "timestamp": T[0]}
TABLE = "ChangedMessages"

Put = Any


@pytest.fixture
def table(dynalite: str) -> Iterator[None]:
    with made(described(TABLE, "roomId", "timestampSk")):
        yield


@pytest.fixture(params=["memory", "dynamodb"])
def place(request: pytest.FixtureRequest) -> tuple[DynamoChanges, Put]:
    if request.param == "memory":
        rows: dict[tuple[object, ...], Item] = {}
        return MemoryChanges(rows), lambda row: rows.update({(row["roomId"], row["timestampSk"]): row})
    request.getfixturevalue("table")
    dynamodb = client("dynamodb")
    return DynamoMessageChanges(dynamodb, TABLE, "messages"), MessageTable(dynamodb, TABLE, "messages").put


def change(number: int, kind: str = "edit", key: str = KEY, room: str = "kitchen~4", **more: Any) -> Item:
    event = {"roomId": room, "key": key, "change": kind, "changeId": f"c-{number}", "timestamp": T[number]}
    event |= {"changedBy": "alice", "sender": "bbbbbbbbbbbb", **more}
    return row_of(event | ({"message": f"text {number}"} if kind == "edit" else {}), 0)


def test_the_changes_of_a_message_are_those_under_its_key_in_its_room(place: tuple[DynamoChanges, Put]) -> None:
    store, put = place
    mine = [change(3), change(2), change(4, "delete")]
    other = f"{T[0]}#m-1#aaaaaaaaaaab"
    for row in [
        *mine,
        change(5, key=other),
        change(5, key=f"{T[0]}#m-11#aaaaaaaaaaaa"),
        change(5, room="hall"),
        MESSAGE,
    ]:
        put(row)

    assert list(store.changes_of("kitchen~4", KEY)) == [mine[2], mine[0], mine[1]]
    assert store.message("kitchen~4", KEY) == MESSAGE
    assert store.message("kitchen~4", other) is None


def test_only_a_later_change_is_applied_and_the_first_text_stays(place: tuple[DynamoChanges, Put]) -> None:
    store, put = place
    put(MESSAGE)
    first, second = fold("alice", [change(2)]), fold("alice", [change(3), change(2)])
    assert first is not None
    assert second is not None

    applied = store.apply("kitchen~4", KEY, second, T[9])

    edited = {**MESSAGE, "message": "text 3", "editedAt": T[3], "firstText": "helo", "storedAt": T[9]}
    assert applied == {**edited, "changeKey": second.key} == store.message("kitchen~4", KEY)
    assert store.apply("kitchen~4", KEY, first, T[10]) is None
    assert store.apply("kitchen~4", KEY, second, T[10]) is None
    assert store.message("kitchen~4", KEY) == applied


def test_a_deletion_removes_every_text(place: tuple[DynamoChanges, Put]) -> None:
    store, put = place
    rows = [change(5), change(2, "delete")]
    other = change(5, key=f"{T[0]}#m-2#aaaaaaaaaaaa")
    for row in [MESSAGE, *rows, other]:
        put(row)
    edit, deletion = fold("alice", rows[:1]), fold("alice", store.changes_of("kitchen~4", KEY))
    assert edit is not None
    assert deletion is not None
    store.apply("kitchen~4", KEY, edit, T[8])

    assert store.apply("kitchen~4", KEY, deletion, T[9]) == {
        **MESSAGE,
        "message": "",
        "deletedAt": T[2],
        "deletedBy": "alice",
        "changeKey": deletion.key,
        "storedAt": T[9],
    }
    for _ in range(2):
        store.forget_edits("kitchen~4", KEY)
    assert list(store.changes_of("kitchen~4", KEY)) == rows[1:]
    assert list(store.changes_of("kitchen~4", other["timestampSk"].split("#1#")[0])) == [other]


def reaction(number: int, user: str, value: str | None, key: str = KEY, room: str = "kitchen~4") -> Item:
    event = {"roomId": room, "key": key, "change": "react", "changeId": "c", "timestamp": T[number]}
    event |= {"changedBy": user, "sender": "bbbbbbbbbbbb", **({"value": value} if value else {})}
    return row_of(event, 0)


def test_the_reactions_to_a_message_are_in_the_order_of_users_and_times(place: tuple[DynamoChanges, Put]) -> None:
    store, put = place
    mine = [
        reaction(2, "ann", "up"),
        reaction(3, "ann", None),
        reaction(1, "ann-b", "up"),
        reaction(1, "bob", "\u2764"),
    ]
    longest = "\U0001f600" * 128
    others = [
        reaction(1, "ann", "up", key=f"{T[0]}#m-1#aaaaaaaaaaab"),
        reaction(1, "ann", "up", room="hall"),
        reaction(1, longest, "up", key=f"{T[0]}#{longest}#aaaaaaaaaaaa", room=longest),
    ]
    for row in [*mine[::-1], *others, change(2), MESSAGE]:
        put(row)

    assert sorted(store.reactions_to("kitchen~4", KEY), key=str) == sorted(mine, key=str)
    assert [row["timestamp"] for row in store.reactions_to("kitchen~4", KEY) if row["changedBy"] == "ann"] == [
        T[2],
        T[3],
    ]
    assert list(store.reactions_to(longest, f"{T[0]}#{longest}#aaaaaaaaaaaa")) == others[2:]
    store.forget_rows(mine[:1])
    assert [row["timestamp"] for row in store.reactions_to("kitchen~4", KEY)].count(T[2]) == 0
    store.forget_edits("kitchen~4", KEY)
    store.forget_rows(list(store.reactions_to("kitchen~4", KEY)))
    assert list(store.reactions_to("kitchen~4", KEY)) == list(store.changes_of("kitchen~4", KEY)) == []
    assert [len(list(store.reactions_to(*message_of(row)))) for row in others] == [1, 1, 1]


def test_reactions_are_shown_only_as_those_that_were_counted_last(place: tuple[DynamoChanges, Put]) -> None:
    store, put = place
    put(MESSAGE)
    shown = {"reactions": {"up": 2, "__proto__": 1}, "moreReactions": True, "reactionsAt": T[5]}

    assert store.show_reactions("kitchen~4", KEY, shown, T[4], T[9]) is None
    assert store.show_reactions("kitchen~4", KEY, shown, None, T[9]) == {**MESSAGE, **shown, "storedAt": T[9]}
    assert store.show_reactions("kitchen~4", KEY, shown, None, T[10]) is None
    fewer = {"reactions": {"up": 1}, "reactionsAt": T[6]}
    assert store.show_reactions("kitchen~4", KEY, fewer, T[5], T[9]) == {**MESSAGE, **fewer, "storedAt": T[9]}
    none = {"reactionsAt": T[7]}
    assert store.show_reactions("kitchen~4", KEY, none, T[6], T[10]) == {**MESSAGE, **none, "storedAt": T[10]}


def test_a_deleted_message_shows_no_reactions(place: tuple[DynamoChanges, Put]) -> None:
    store, put = place
    put(MESSAGE)
    shown = {"reactions": {"up": 1}, "moreReactions": True, "reactionsAt": T[5]}
    store.show_reactions("kitchen~4", KEY, shown, None, T[9])

    row = store.apply("kitchen~4", KEY, Change("delete", "2#x", T[6], "alice"), T[10])

    assert row is not None
    assert not row.keys() & shown.keys()
    assert store.show_reactions("kitchen~4", KEY, shown, None, T[11]) is None
    assert store.message("kitchen~4", KEY) == row


def test_nothing_is_made_of_a_message_that_is_not_there(place: tuple[DynamoChanges, Put]) -> None:
    store, _ = place

    assert store.apply("kitchen~4", KEY, Change("edit", "1#x", T[1], "alice", "text"), T[9]) is None
    store.set_stored("kitchen~4", KEY, T[9])
    store.set_expiry("kitchen~4", KEY, 5)
    store.forget_edits("kitchen~4", KEY)
    assert store.show_reactions("kitchen~4", KEY, {"reactionsAt": T[5]}, None, T[9]) is None

    assert store.message("kitchen~4", KEY) is None
    assert list(store.changes_of("kitchen~4", KEY)) == []


def test_a_message_that_is_awaited_is_no_message_until_it_is_stored_once(place: tuple[DynamoChanges, Put]) -> None:
    store, _ = place
    at = ("kitchen~4", KEY)

    assert [store.await_message(*at, value, expires_at) for value, expires_at in (("1", None), ("2", 9))] == [
        True,
        True,
    ]

    assert store.message(*at) is None
    assert store.rows_of([at, ("hall", KEY)]) == {
        at: {"roomId": "kitchen~4", "timestampSk": KEY, "awaited": "2", "expiresAt": 9}
    }
    store.set_stored(*at, T[9])
    store.set_expiry(*at, 5)
    assert store.apply(*at, Change("edit", "1#x", T[1], "alice", "text"), T[9]) is None
    assert [store.store_awaited(MESSAGE, value) for value in ("1", "2", "2")] == [False, True, False]
    assert store.message(*at) == MESSAGE
    assert not store.await_message(*at, "3", None)


def test_positions_find_a_message_again_only_later(place: tuple[DynamoChanges, Put]) -> None:
    store, put = place
    put(MESSAGE)

    for at in (5, 9, 7):
        store.set_stored("kitchen~4", KEY, T[at])

    assert store.message("kitchen~4", KEY) == {**MESSAGE, "storedAt": T[9]}


@pytest.mark.parametrize("before", [{}, {"expiresAt": 9}])
def test_the_expiry_of_a_message_only_moves_to_a_sooner_time(place: tuple[DynamoChanges, Put], before: Any) -> None:
    store, put = place
    put({**MESSAGE, **before})

    for at in (7, 8, 7):
        store.set_expiry("kitchen~4", KEY, at)

    assert store.message("kitchen~4", KEY) == {**MESSAGE, "expiresAt": 7}


@pytest.mark.parametrize("is_memory", [True, False])
def test_an_unavailable_table_is_a_store_that_is_unavailable(is_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{free_port()}")
    store: DynamoChanges = DynamoMessageChanges(client("dynamodb", attempts=1), TABLE, "messages")
    if is_memory:
        store = memory = MemoryChanges({})
        memory.down = True
    with pytest.raises(StoreUnavailable):
        list(store.changes_of("kitchen~4", KEY))
    with pytest.raises(StoreUnavailable):
        store.apply("kitchen~4", KEY, Change("delete", "2#x", T[1], "alice"), T[9])
