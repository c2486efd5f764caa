"""A user's export has each row that names the user, and a room's export what its owner reads."""

from __future__ import annotations

import gzip
import json
import random
import urllib.request
from collections import Counter
from typing import Any

import pytest

from headrace.storage.dynamodb.client import from_wire
from tests.e2e.clients import Client, now, unique, until
from tests.e2e.conftest import RunningStage
from tests.e2e.test_rooms import MEMBERS, bring, ok, path, posted


def rows_naming(stage: RunningStage, *people: str) -> list[dict[str, Any]]:
    """All rows of the stage's tables that have an id of these people in them."""
    dynamodb = stage.aws("dynamodb")
    pages = [
        page
        for name in dynamodb.list_tables()["TableNames"]
        for page in dynamodb.get_paginator("scan").paginate(TableName=name)
    ]
    rows = [from_wire(row) for page in pages for row in page["Items"]]
    return [row for row in rows if any(person in json.dumps(row, default=str) for person in people)]


def exported(client: Client, target: str, seconds: float = 60.0) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A done export, and the lines of its files, which anybody can open with their links."""
    until(lambda: client.http("GET", target)[1], lambda answer: answer.get("state") == "done", seconds)
    answer = client.http("GET", target)[1]
    whole = b""
    for file in answer["files"]:
        with urllib.request.urlopen(file["link"], timeout=10) as opened:
            whole += opened.read()
    lines = [json.loads(line) for line in gzip.decompress(whole).splitlines()]
    assert sum(file["lines"] for file in answer["files"]) == len(lines)
    return answer, lines


def plain(row: dict[str, Any]) -> str:
    """A row as a line shows it, to compare."""
    shown = {name: sorted(value) if isinstance(value, set) else value for name, value in row.items()}
    return json.dumps(shown, default=float)


@pytest.mark.timeout(300)
def test_each_row_of_the_stage_that_names_a_user_is_in_the_users_export(platform: RunningStage, bob: Client) -> None:
    person, skier = unique("exported"), random.randrange(10**11, 10**12)
    me, other = Client(platform, person), Client(platform, unique("other"))
    operator, gate = Client(platform, None, "ops"), Client(platform, None, "events:write")
    room, den, secret = unique("room"), unique("den"), unique("secret")
    ok(me, "PUT", f"/rooms/{room}", MEMBERS)
    bring(me, room, bob)
    ok(bob, "PUT", f"/rooms/{den}", MEMBERS)
    bring(bob, den, me)
    mine, his, liked = posted(me, room, f"my {secret}"), posted(bob, room, "hello"), posted(bob, room, "and welcome")
    assert me.http("PATCH", path(mine), {"message": f"my other {secret}"})[0] == 202
    assert me.http("PUT", path(liked, "/reaction"), {"value": "👍"})[0] == 202
    assert me.http("DELETE", path(his))[0] == 202
    ok(me, "PUT", f"/rooms/{room}/read", {"upTo": mine["key"]})
    ok(me, "PUT", f"/users/{person}/blocked/{other.user}")
    ok(other, "PUT", f"/users/{other.user}/blocked/{person}")
    assert me.http("POST", "/clicks/batch", {"events": [{"adId": unique("ad"), "adType": "x", "clickedAt": now()}]})[0]
    resort = random.randrange(1_000_000, 999_999_999)
    assert gate.http("POST", f"/resorts/{resort}/seasons", {"year": "2025"})[0] == 201
    ride = f"/skiers/{resort}/seasons/2025/days/1/skiers/{skier}"
    assert gate.http("POST", ride, {"time": 200, "liftID": 3})[0] == 201
    until(lambda: len(rows_naming(platform, str(skier))), bool)
    until(lambda: bob.room(room), lambda items: any("deletedAt" in item for item in items))
    until(lambda: me.room(room), lambda items: any("editedAt" in item for item in items))

    status, begun, _ = operator.http("POST", f"/users/{person}/export", {"skierID": skier})
    assert (status, begun["userId"]) == (202, person)
    answer, lines = exported(operator, f"/users/{person}/export")

    manifest = lines.pop()["row"]
    assert Counter(line["kind"] for line in lines) == answer["counts"] == manifest["counts"]
    found = {plain(line["row"]) for line in lines if line["kind"] != "namedByOthers"}
    named = [line["row"] for line in lines if line["kind"] == "namedByOthers"]
    for row in rows_naming(platform, person, str(skier)):
        is_mine = plain(row) in found
        is_named = any(each.items() <= row.items() for each in named)
        # The user deleted it, which the deletion says, and is blocked, which the export does not tell.
        is_others = row.get("deletedBy") == person or "blockedAt" in row
        assert is_mine or is_named or is_others, row
    assert {"messages", "notices", "changes", "reactions", "memberships", "blocks", "clicks", "rides"} <= {
        *answer["counts"]
    }
    text = json.dumps(lines)
    assert f"my other {secret}" in text
    assert f"{other.user}" in text
    assert "welcome" not in text
