"""P15, P18: An erased user is nowhere on a whole stage, and what comes late of them does not come back."""

from __future__ import annotations

import json
import os
import random
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from headrace.core.envelope import Envelope
from headrace.core.sender import SenderContext
from headrace.core.times import iso, micros_of
from tests.e2e.clients import Client, message, now, unique, until
from tests.e2e.conftest import RunningStage
from tests.e2e.test_attachments import files, uploaded
from tests.e2e.test_dead_letters import Queues
from tests.e2e.test_rooms import MEMBERS, bring, ok, path, posted
from tests.worlds.senders import CHAT

PATIENCE = 100.0
"""Seconds for an erasure, whose second round begins 18 s after the first, and the third one 9 s later."""


class Tables:
    """Every row of a stage."""

    def __init__(self, stage: RunningStage) -> None:
        self._dynamodb = stage.aws("dynamodb")

    def holding(self, text: str) -> list[str]:
        """The rows of all tables that have ``text`` in them."""
        scan = self._dynamodb.get_paginator("scan")
        names = self._dynamodb.list_tables()["TableNames"]
        assert len(names) >= 8
        rows = [
            json.dumps([name, row], default=str)
            for name in names
            for page in scan.paginate(TableName=name)
            for row in page["Items"]
        ]
        return [row for row in rows if text in row]


def letter(user: str, text: str, accepted_at: int, room: str = "den") -> str:
    """A record of the retry lane with one message."""
    sent = SenderContext(user, user, False, accepted_at)
    event = CHAT.accept({"roomId": room, "message": text}, sent).event
    return Envelope("chat", "r-1", iso(accepted_at), [event]).encode().decode()


def erasure_of(operator: Client, person: str) -> Any:
    """How far an erasure is, asked so rarely that the tests beside it do not notice."""
    time.sleep(0.5)
    return operator.http("GET", f"/users/{person}/erasure")[1]


def links(client: Client, target: str) -> list[str]:
    """The links to the files of an export, when it is done."""
    until(lambda: client.http("GET", target)[1], lambda answer: answer.get("state") == "done")
    return [file["link"] for file in client.http("GET", target)[1]["files"]]


def is_there(link: str) -> bool:
    """Whether a link opens a file."""
    try:
        with urllib.request.urlopen(link, timeout=10):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return error.code != 404


def test_an_erased_user_is_in_no_table_and_does_not_come_back(platform: RunningStage, bob: Client) -> None:
    person, skier = unique("erased-soon"), random.randrange(10**11, 10**12)
    me, tables, queues = Client(platform, person), Tables(platform), Queues(platform)
    operator, gate = Client(platform, None, "ops"), Client(platform, None, "events:write")
    room, secret, again = unique("room"), unique("secret"), unique("again")
    ok(me, "PUT", f"/rooms/{room}", MEMBERS)
    bring(me, room, bob)
    file, his_file = uploaded(me, room), uploaded(bob, room)
    mine = posted(me, room, f"my {secret}", attachments=[file])
    his = posted(bob, room, "hello", attachments=[his_file])
    assert me.http("PATCH", path(mine), {"message": f"my other {secret}"})[0] == 202
    assert me.http("PUT", path(his, "/reaction"), {"value": "👍"})[0] == 202
    assert bob.http("PUT", path(mine, "/reaction"), {"value": "👍"})[0] == 202
    assert me.http("POST", "/clicks/batch", {"events": [{"adId": unique("ad"), "adType": "x", "clickedAt": now()}]})[0]
    resort = random.randrange(1_000_000, 999_999_999)
    assert gate.http("POST", f"/resorts/{resort}/seasons", {"year": "2025"})[0] == 201
    ride = f"/skiers/{resort}/seasons/2025/days/1/skiers/{skier}"
    assert gate.http("POST", ride, {"time": 200, "liftID": 3})[0] == 201
    until(lambda: [tables.holding(text) for text in (f"my other {secret}", str(skier))], all)
    until(lambda: bob.room(room), lambda items: any(item.get("reactions") for item in items))

    exports = [(bob, "/export"), (me, "/export"), (me, f"/rooms/{room}/export")]
    assert {client.http("POST", target)[0] for client, target in exports} == {202}
    kept, *gone = [links(client, target) for client, target in exports]

    status_code, begun, _ = operator.http("POST", f"/users/{person}/erasure", {"skierID": skier})
    assert (status_code, begun["state"]) == (202, "running")
    before = micros_of(begun["erasedAt"])
    queues.send(queues.retry, letter(person, f"before {secret}", before - 120_000_000))
    done = until(lambda: erasure_of(operator, person), lambda found: found["state"] == "done", PATIENCE)
    late = unique("late")
    queues.send(queues.retry, letter(person, late, before - 1))
    queues.send(queues.retry, letter("bob", late, before - 1))

    until(lambda: tables.holding(late), len)
    assert len(tables.holding(late)) == 1
    assert tables.holding(person) == tables.holding(str(skier)) == []
    assert tables.holding(secret) == []
    assert [is_there(link) for link in kept] == [True]
    assert [is_there(link) for each in gone for link in each] == [False, False]
    assert me.http("GET", "/export")[0] == 404
    assert (file["id"] in (left := files(platform)), his_file["id"] in left) == (False, True)
    assert done["counts"]["messages"] >= 2
    assert {"attachments", "clicks", "memberships", "reactions", "rides", "rooms"} <= done["counts"].keys()
    items = {item["key"]: item for item in bob.room(room)}
    assert (items[mine["key"]]["message"], "reactions" in items[mine["key"]]) == ("", False)
    assert (items[his["key"]]["message"], "reactions" in items[his["key"]]) == ("hello", False)
    assert me.http("POST", "/messages/batch", {"events": [message("lobby", again)]})[0] == 202
    until(lambda: tables.holding(again), len)


def test_a_deleted_room_is_in_no_table_and_its_followers_are_told(platform: RunningStage, bob: Client) -> None:
    me, tables, queues = Client(platform, unique("owner")), Tables(platform), Queues(platform)
    room, late = unique("gone"), unique("late")
    ok(me, "PUT", f"/rooms/{room}", MEMBERS)
    bring(me, room, bob)
    file = uploaded(bob, room)
    posted(bob, room, "hello", attachments=[file])
    followed = bob.connect()
    assert followed.request({"action": "subscribe", "roomId": room})["type"] == "subscribed"
    assert bob.http("DELETE", f"/rooms/{room}")[0] == 403

    status, begun, _ = me.http("DELETE", f"/rooms/{room}")

    assert (status, begun["state"]) == (202, "running")
    before = micros_of(begun["erasedAt"]) - 120_000_000
    queues.send(queues.retry, letter("bob", late, before, room))
    until(lambda: me.http("DELETE", f"/rooms/{room}")[1], lambda found: found["state"] == "done", PATIENCE)
    until(followed.receive, lambda frame: frame["type"] == "roomDeleted")
    assert [json.loads(row)[0].split("-")[2] for row in tables.holding(room)] == ["RoomsTable"]
    assert (tables.holding(late), file["id"] in files(platform)) == ([], False)
    assert bob.http("POST", f"/rooms/{room}/messages", {"message": "again"})[0] == 404


MANY = int(os.environ.get("ERASED") or 300)
"""Messages of one user; ``make e2e ERASED=100000`` is the full form."""


@pytest.mark.timeout(2400)
def test_all_messages_of_a_user_who_wrote_many_are_erased(platform: RunningStage) -> None:
    person, room = unique("wrote-many"), unique("room")
    gate, operator = Client(platform, None, "events:write"), Client(platform, None, "ops")
    tables = Tables(platform)
    for start in range(0, MANY, 500):
        events = [message(room, f"text {each}", userId=person) for each in range(start, min(start + 500, MANY))]
        assert gate.http("POST", "/messages/batch", {"events": events})[0] == 202
    until(lambda: len(tables.holding(person)), lambda found: found > MANY - 1, 600.0)

    began = time.monotonic()
    assert operator.http("POST", f"/users/{person}/erasure", {})[0] == 202
    found = until(
        lambda: erasure_of(operator, person)["counts"], lambda counts: counts.get("messages", 0) >= MANY, 1800.0
    )

    until(lambda: tables.holding(person), lambda rows: not rows, 600.0)
    print(f"an erasure: {found['messages']} messages in {time.monotonic() - began:.0f} s")
    assert found["messages"] == MANY
