"""Every route that answers with what is in messages obeys one rule: it shows nothing that the room keeps no more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import pytest
from typing_extensions import get_type_hints

from headrace.api.router import Api, frame_handler, http_handler
from headrace.features.edits.versions import Version, VersionServices
from headrace.features.reactions.reactors import Reaction
from headrace.features.unread.conversations import ConversationServices
from headrace.features.unread.walks import Walks
from headrace.live.hints import SubscriberHints
from headrace.streams.chat.messages.positions import position
from headrace.streams.chat.rooms.retention import RETENTION_SECONDS
from headrace.streams.chat.stream import LinkedAttachment, MessageItem
from tests.fakes.files import PNG
from tests.worlds.chat_world import SCOPES
from tests.worlds.functions import FUNCTIONS, app, routes_of
from tests.worlds.message_changes import accept
from tests.worlds.requests import http_event
from tests.worlds.retention_world import ROOM, RetentionWorld
from tests.worlds.write_path import frame_event

CONTENT = (MessageItem, LinkedAttachment, Reaction, Version)
"""The types of what is in messages."""


def parts_of(answer: Any) -> Iterator[Any]:
    """A type and all types inside."""
    yield answer
    fields = get_type_hints(answer).values() if getattr(answer, "__module__", "").startswith("headrace.") else ()
    for part in (*get_args(answer), *fields):
        yield from parts_of(part)


READERS = {
    key: function
    for function in FUNCTIONS
    for key, route in getattr(app(function), "ROUTES", {}).items()
    if any(part in CONTENT for part in parts_of(route.answer))
}
FRAMES = {"resume": {"rooms": {ROOM: position(0)}}, "history": {"roomId": ROOM}}


@pytest.mark.parametrize("kind", ["members", "open"])
@pytest.mark.parametrize("key", READERS)
def test_every_reader_that_there_is_obeys_the_retention_of_rooms(key: str, kind: str) -> None:
    world = RetentionWorld(kind)
    file = {"id": "a" * 26, "name": "gone.png", "type": "image/png", "bytes": len(PNG)}
    old = world.message(1, days=2, user="bob", message="gone text", attachments=[file])
    reply = world.message(2, days=2, message="gone reply", replyTo=world.key(old))
    reaction = {"roomId": ROOM, "key": world.key(old), "change": "react", "value": "gone"}
    world.store(old, reply, accept(reaction, world.sender("alice")).event)

    assert "gone" in answer(world, key, old)
    world.keep(1)
    world.wait(RETENTION_SECONDS)

    assert "gone" not in answer(world, key, old)


def test_readers_are_found_in_both_protocols() -> None:
    assert len(READERS) >= 9
    assert FRAMES.keys() <= READERS.keys()


def answer(world: RetentionWorld, key: str, old: dict[str, Any]) -> str:
    given = {"roomId": ROOM, "userId": "bob", "key": world.key(old)}
    if " " in key:
        services = world.read
        if key.endswith("/versions"):
            services = VersionServices(world.read, world.changes)
        elif key.endswith("/rooms"):
            found = services.history
            services = ConversationServices(found, world.memberships, world.rooms, found.reader, Walks(world.cache))
        path = {name: given[name] for name in re.findall(r"{(\w+)}", key)}
        event = http_event(key, user="bob", scope=SCOPES, path=path)
        return str(http_handler(Api(routes_of(READERS[key]), lambda: services, world.clock))(event)["body"])
    hints, access = SubscriberHints(world.cache, world.connections), world.read.history.access
    frames = replace(world.subscriptions, hints=hints, access=access, history=world.read.history)
    event = frame_event(FRAMES[key], subject="bob", scope="chat:read")
    event["requestContext"] |= {"connectedAt": world.clock.now() // 1000, "routeKey": key}
    return json.dumps(frame_handler(Api(routes_of(READERS[key]), lambda: frames, world.clock))(event))
