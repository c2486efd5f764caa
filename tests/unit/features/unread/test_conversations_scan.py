"""A user's conversations after any changes equal the result of a full scan."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.room_shards import stored
from tests.worlds.conversation_world import ConversationWorld
from tests.worlds.history_world import at

ROOMS = {"attic": "open", "cellar": "members", "garden": "members", "lobby": "open"}
STEPS = st.tuples(
    st.sampled_from(["join", "leave", "say", "say", "say", "read"]),
    st.sampled_from(sorted(ROOMS)),
    st.sampled_from(["alice", "bob"]),
    st.integers(0, 24),
)


def in_room(events: list[tuple[float, int]], second: float) -> bool:
    """Whether the last event until then is a join; a leave at the same time counts after it."""
    before = sorted(event for event in events if event[0] <= second)
    return bool(before) and before[-1][1] == 0


@given(st.lists(STEPS, min_size=10, max_size=40), st.integers(1, 3))
def test_every_list_equals_the_result_of_a_full_scan(steps: list[tuple[str, str, str, int]], limit: int) -> None:
    world = ConversationWorld()
    for room, kind in ROOMS.items():
        world.room(room, kind)  # type: ignore[arg-type]
    comings: dict[str, list[tuple[float, int]]] = {room: [] for room in ROOMS}
    marks: dict[str, float] = {}
    for what, room, user, half in steps:
        second = half / 2
        if what in ("join", "leave"):
            world.change(what, user, room, second)  # type: ignore[arg-type]
            if user == "alice":
                comings[room].append((second, int(what == "leave")))
        elif what == "say":
            world.store_messages(room, second, user=user)
        elif any(in_room(comings[room], each) for each, _ in comings[room]):
            marks[room] = max(marks.get(room, 0), second)
            assert world.read(room, at(second)) == at(marks[room])

    items = {item["roomId"]: item for item in world.page()["items"]}

    expected = {room for room in ROOMS if any(in_room(comings[room], each) for each, _ in comings[room])}
    assert set(items) == expected
    for room, item in items.items():
        rows = sorted((row for row in world.rows if row["roomId"] == room), key=lambda row: str(row["timestampSk"]))
        readable = [row for row in rows if in_room(comings[room], second_of(row))]
        seen = rows if ROOMS[room] == "open" else readable
        assert (item["lastMessage"] or {}).get("key") == (seen[-1]["timestampSk"] if seen else None)
        assert item["unread"] == sum(
            row["userId"] == "bob" and second_of(row) > marks.get(room, -1) for row in readable
        )
        assert item["membership"]["state"] == ("in" if in_room(comings[room], 1000) else "left")
        newest, since = (rows[-1]["timestamp"] if rows else ""), item["membership"]["since"]
        if item["membership"]["state"] == "in":
            assert item["activityAt"][:19] == max(newest, since)[:19]
        elif ROOMS[room] == "members":
            assert item["activityAt"] == since if newest >= since else item["activityAt"] <= since
    order = [item["activityAt"] for item in world.page()["items"]]
    assert order == sorted(order, reverse=True)
    assert world.walk(limit) == list(items)


def second_of(row: dict[str, Any]) -> float:
    return next(half / 2 for half in range(25) if at(half / 2) == row["timestamp"])


def test_a_list_with_a_room_in_shards_has_the_last_message_and_the_unread_count() -> None:
    world = ConversationWorld()
    for room in ("stadium~4", "lobby"):
        world.room(room)
        world.join("alice", room, 1)
        world.store_messages(room, *range(5, 30))
    world.rows[:] = [stored(each) for each in world.rows]
    object.__setattr__(world.chat, "reader", MessageReader(world.reader))

    one, other = world.page()["items"]

    assert (one["unread"], other["unread"]) == (25, 25)
    assert {one["lastMessage"]["roomId"], other["lastMessage"]["roomId"]} == {"stadium~4", "lobby"}
    assert one["lastMessage"]["timestamp"] == other["lastMessage"]["timestamp"] == at(29)
