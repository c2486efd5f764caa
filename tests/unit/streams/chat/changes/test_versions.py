"""P12: earlier texts are for the author and the owners of the room, as long as others may read the message."""

from __future__ import annotations

import pytest

from headrace.core.errors import Forbidden, NotFound
from headrace.streams.chat.changes.routes import MessagePath
from headrace.streams.chat.changes.versions import list_versions
from tests.worlds.chat_world import ChatWorld
from tests.worlds.requests import request_of
from tests.worlds.room_world import caller

RETAINED = 32 * 24 * 3600


def test_the_texts_of_an_expired_message_are_gone_before_its_row_is() -> None:
    world = ChatWorld()
    assert world.send("alice", "lobby", "m-1") == 202
    world.settle()
    ((_, key),) = world.write_path.store.tables["ChatMessages"]
    path = MessagePath(roomId="lobby", key=str(key))

    found = list_versions(world.chat, request_of(caller("alice"), world.clock.now(), path))
    assert [version["message"] for version in found["items"]] == ["hello"]
    with pytest.raises(Forbidden):
        list_versions(world.chat, request_of(caller("bob"), world.clock.now(), path))

    world.clock.advance(RETAINED)
    with pytest.raises(NotFound):
        list_versions(world.chat, request_of(caller("alice"), world.clock.now(), path))
