"""P12: earlier texts are for the author and owners of a members room, as long as others may read the message."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.errors import Forbidden, NotFound
from headrace.core.items import Item
from headrace.core.times import SECOND, iso
from headrace.features.edits.versions import VersionServices, list_versions
from headrace.streams.chat.rooms.requests import MessagePath
from tests.worlds.chat_world import ChatWorld
from tests.worlds.message_changes import CHANGES
from tests.worlds.requests import request_of
from tests.worlds.room_world import caller
from tests.worlds.senders import TABLE, sender
from tests.worlds.write_path import MESSAGES

RETAINED = 32 * 24 * 3600


def versions(world: ChatWorld, path: MessagePath, user: str) -> list[dict[str, Any]]:
    services = VersionServices(world.chat, world.changes)
    found: list[dict[str, Any]] = list_versions(services, request_of(caller(user), world.clock.now(), path))["items"]
    return found


def _row(event: dict[str, str]) -> Item:
    return CHANGES.item(CHANGES.accept(event, sender("alice", trusted=True)).event, 0, TABLE)


def test_the_first_text_and_the_last_hundred_are_shown() -> None:
    world = ChatWorld()
    assert world.send("alice", "lobby", "m-1") == 202
    world.settle()
    ((_, key),) = world.write_path.store.tables["ChatMessages"]
    for number in range(101):
        event = {"roomId": "lobby", "key": str(key), "change": "edit", "message": f"text {number}"}
        world.clock.advance(1)
        event["timestamp"] = iso(world.clock.now())
        assert world.write_path.store.put_many(MESSAGES, [_row(event)]) == [None]

    path = MessagePath(roomId="lobby", key=str(key))
    texts = [version["message"] for version in versions(world, path, "alice")]
    assert texts == ["hello", *(f"text {number}" for number in range(1, 101))]


def test_the_texts_of_an_expired_message_are_gone_before_its_row_is() -> None:
    world = ChatWorld()
    assert world.send("alice", "lobby", "m-1") == 202
    world.settle()
    ((_, key),) = world.write_path.store.tables["ChatMessages"]
    path = MessagePath(roomId="lobby", key=str(key))

    assert [version["message"] for version in versions(world, path, "alice")] == ["hello"]
    with pytest.raises(Forbidden):
        versions(world, path, "bob")

    world.clock.advance(RETAINED)
    with pytest.raises(NotFound):
        versions(world, path, "alice")


def test_the_creator_of_an_open_room_reads_no_earlier_texts_of_others() -> None:
    world = ChatWorld()
    world.ok("alice", "PUT", "hall", {"kind": "open"})
    assert world.send("bob", "hall", "m-1") == 202
    world.settle()
    ((_, key),) = world.write_path.store.tables["ChatMessages"]
    path = MessagePath(roomId="hall", key=str(key))

    with pytest.raises(Forbidden):
        versions(world, path, "alice")
    assert len(versions(world, path, "bob")) == 1


def test_versions_are_oldest_first_also_after_an_edit_by_a_clock_behind() -> None:
    world = ChatWorld()
    assert world.send("alice", "lobby", "m-1", timestamp=iso(world.clock.now() + 60 * SECOND)) == 202
    world.settle()
    ((_, key),) = world.write_path.store.tables["ChatMessages"]
    event = {"roomId": "lobby", "key": str(key), "change": "edit", "message": "hi", "timestamp": iso(world.clock.now())}
    assert world.write_path.store.put_many(MESSAGES, [_row(event)]) == [None]

    path = MessagePath(roomId="lobby", key=str(key))
    found = versions(world, path, "alice")

    assert [version["message"] for version in found] == ["hello", "hi"]
    assert found[0]["timestamp"] == found[1]["timestamp"] == iso(world.clock.now() + 60 * SECOND)
