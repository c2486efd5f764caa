"""Pins, which docs/how-to/add-a-feature.md adds: what a copy of the code that has them does with a message."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import boto3
from moto import mock_aws

from headrace.api.router import Api, http_handler
from headrace.core.people import Target
from headrace.core.sender import SenderContext
from headrace.core.times import SystemClock, iso
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.records import rows_of
from headrace.delivery.row_writer import Batch
from headrace.queues.names import persist_queues
from headrace.services import live, messages, rooms
from headrace.stage import chosen
from headrace.streams.chat.message_row import place_of
from headrace.streams.chat.rooms.memberships import Change, membership_event
from headrace.streams.chat.rooms.rooms import Room
from headrace.streams.chat.stream import item_of
from tests.contract.tables import MESSAGES, described
from tests.fakes.queues import MemoryPublisher, MemoryRetryLane
from tests.worlds.functions import routes_of
from tests.worlds.requests import http_event
from tests.worlds.senders import CHAT, TABLE


@mock_aws
def play() -> None:
    """Pin messages with what the registry has, and print what they show, and what goes to TellTarget."""
    for table in (described("Rooms", "roomId"), described("Memberships", "userId", "roomId"), MESSAGES):
        boto3.client("dynamodb").create_table(**table)
    clock, broker = SystemClock(), MemoryPublisher(persist_queues({"chat": 1}))
    acceptor = Acceptor(broker, MemoryRetryLane(clock), {"chat": 1}, clock, chosen.gates_of)
    http = http_handler(Api(routes_of("receive_http"), lambda: acceptor, clock))
    live.live_hook = lambda: SimpleNamespace(push=lambda _rows, **_: True)
    rooms.rooms().create(Room("kitchen", "members", "group", iso(clock.now()), "alice"))
    for user in ("alice", "bob"):
        event = membership_event(iso(clock.now()), "kitchen")
        rooms.memberships().add(Change(user_id=user, room_id="kitchen", kind="join", event=event))
    table = messages.message_table()
    raw, sender = {"roomId": "kitchen", "message": "hello"}, SenderContext("bob", "Bob", False, clock.now())
    early, late = (CHAT.item(CHAT.accept(raw, sender).event, 0, TABLE) for _ in range(2))

    def pin(method: str, message: Any, user: str = "alice") -> list[Any]:
        """Send a request, and store every event so far, as if all were delivered again."""
        path = {"roomId": "kitchen", "key": message["timestampSk"]}
        event = http_event(f"{method} /rooms/{{roomId}}/messages/{{key}}/pin", "", user=user, path=path)
        status, before = http(event)["statusCode"], table.message(*place_of(message))
        found = [each for body in broker.bodies() for each in rows_of(body, {"chat": TABLE}).rows]
        batch = Batch((each.kind, each.item) for each in found)
        batch.run(chosen.made("before"))
        table.put_many(batch.items)
        batch.run(chosen.made("after"))
        assert {*batch.reasons} <= {None}
        if before is None:
            for complete in chosen.parts("complete", chosen.FEATURES):
                complete(message)
        after = table.message(*place_of(message)) or message
        told = next(filter(None, (tell(before or {}, after) for tell in chosen.parts("told"))), "")
        return [status, "pinnedAt" if "pinnedAt" in item_of(after) else "", told]

    table.put(early)
    found: dict[str, Any] = {"by an owner": pin("PUT", early), "by a member": pin("DELETE", early, "bob")}
    found |= {"taken back": pin("DELETE", early), "before the message": pin("PUT", late)}
    (pins,) = ([each] for each in chosen.FEATURES if each.name == "pins")
    sources = chosen.made("sources", pins, "alice", None)
    found["exported"] = [what for each in sources for page, _ in each(None) for what, _ in page]
    target = Target("alice", None, "", "erased", "")
    erased = [part for step in chosen.made("steps", pins) for part in step(target)]
    print(json.dumps({**found, "erased": [each for each in erased if each[1]]}))
