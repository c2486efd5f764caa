"""P17: On a whole stage, a file is uploaded, named by a message, read by a link, and gone with its message."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.e2e.clients import Client, unique, until
from tests.e2e.conftest import RunningStage
from tests.e2e.test_changes import path, posted, shown
from tests.e2e.test_erasure import PATIENCE, erasure_of
from tests.e2e.test_exports import exported
from tests.e2e.test_live import Subscriber
from tests.e2e.test_rooms import MEMBERS, bring, ok
from tests.fakes.files import PNG


def put(upload: Mapping[str, Any], body: bytes) -> int:
    """Send a file to the address of an upload, without a token."""
    try:
        with urlopen(Request(upload["url"], body, upload["headers"], method="PUT"), timeout=10) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def read(url: str) -> tuple[int, bytes, str]:
    """The status, the file, and how browsers show it."""
    try:
        with urlopen(url, timeout=10) as opened:
            return opened.status, opened.read(), opened.headers["content-disposition"].partition(";")[0]
    except HTTPError as error:
        return error.code, b"", ""


def uploaded(client: Client, room: str, body: bytes = PNG, type: str = "image/png", **more: Any) -> dict[str, Any]:
    """An attachment that ``client`` has uploaded for a room."""
    status, found, _ = client.http("POST", f"/rooms/{room}/attachments", {"type": type, "bytes": len(body)})
    assert status == 201, found
    assert put(found["upload"], body) == 200
    return {"id": found["id"], "name": "cat.png", "type": type, "bytes": len(body), **more}


def files(stage: RunningStage) -> dict[str, str]:
    """The names of all attachments in the bucket, by their ids, and their states."""
    s3 = stage.aws("s3")
    (bucket,) = [each["Name"] for each in s3.list_buckets()["Buckets"] if "attachments" in each["Name"].lower()]
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    found: dict[str, str] = {}
    for each in (each for page in pages for each in page.get("Contents", ())):
        tags = s3.get_object_tagging(Bucket=bucket, Key=each["Key"])["TagSet"]
        found[each["Key"].rpartition("/")[2]] = next(tag["Value"] for tag in tags if tag["Key"] == "state")
    return found


def test_a_file_goes_from_its_sender_to_all_who_may_read_the_message(
    platform: RunningStage, alice: Client, bob: Client
) -> None:
    room = unique("room")
    posted(alice, room, "first")
    image, paper = uploaded(alice, room), uploaded(alice, room, b"%PDF-1.7", "application/pdf", name="a b.pdf")
    assert {files(platform)[each["id"]] for each in (image, paper)} == {"unnamed"}
    follower = Subscriber(bob.stage, bob.user)
    follower.request("subscribe", room)

    message = posted(alice, room, "look at these", attachments=[image, paper])

    assert [{**each, "url": ""} for each in message["attachments"]] == [{**image, "url": ""}, {**paper, "url": ""}]
    assert [read(each["url"]) for each in message["attachments"]] == [
        (200, PNG, "inline"),
        (200, b"%PDF-1.7", "attachment"),
    ]
    live = follower.wait_for("look at these")["look at these"]
    assert live["attachments"] == [image, paper]
    fresh = ok(bob, "GET", path(message, "/attachments"))["attachments"]
    assert [read(each["url"])[0] for each in fresh] == [200, 200]
    page, frame = bob.http("GET", f"/users/{alice.user}/messages")[1], follower.request("history", room)
    assert [each.keys() - {"url"} for each in page["items"][0]["attachments"]] == [image.keys(), paper.keys()]
    assert "url" in page["items"][0]["attachments"][0]
    assert frame["items"][0]["attachments"] == [image, paper]
    until(lambda: files(platform), lambda found: found[image["id"]] == found[paper["id"]] == "stored")


def test_frames_and_batches_name_attachments_too(alice: Client) -> None:
    room = unique("room")
    posted(alice, room, "first")
    one, two, three = (uploaded(alice, room) for _ in range(3))
    sender = Subscriber(alice.stage, alice.user)
    assert sender.request("sendMessage", room, message="by frame", attachments=[one])["lane"] == "main"
    events = [
        {"roomId": room, "message": "in a batch", "attachments": [two]},
        {"roomId": room, "message": "wrong", "attachments": [{**three, "bytes": 7}]},
    ]

    results = alice.http("POST", "/messages/batch", {"events": events})[1]["results"]

    assert (results[0]["lane"], results[1]["error"]["details"][0]["field"]) == ("main", "attachments[0].bytes")
    items = until(lambda: alice.room(room), lambda found: len(found) == 3)
    assert {item["message"]: len(item.get("attachments", ())) for item in items} == {
        "first": 0,
        "by frame": 1,
        "in a batch": 1,
    }


def test_only_its_sender_names_a_file_and_only_as_what_it_is(alice: Client, bob: Client) -> None:
    room, other = unique("room"), unique("other")
    for each in (room, other):
        posted(alice, each, "first")
    mine, his = uploaded(alice, room), uploaded(bob, room)
    script = uploaded(alice, room, b"<script>alert(1)</script>")
    for where, named, field in (
        (room, his, "attachments[0].id"),
        (other, mine, "attachments[0].id"),
        (room, {**mine, "bytes": mine["bytes"] + 1}, "attachments[0].bytes"),
        (room, {**mine, "type": "application/pdf"}, "attachments[0].type"),
        (room, script, "attachments[0].type"),
        (room, {**mine, "id": "../../x"}, "attachments[0].id"),
    ):
        status, answer, _ = alice.http("POST", f"/rooms/{where}/messages", {"message": "x", "attachments": [named]})
        details = answer["results"][0]["error"]["details"]
        assert (status, [each["field"] for each in details]) == (400, [field]), answer
    for body, field in (({"type": "text/html", "bytes": 5}, "type"), ({"type": "image/png", "bytes": 10**8}, "bytes")):
        status, answer, _ = alice.http("POST", f"/rooms/{room}/attachments", body)
        assert (status, answer["error"]["details"][0]["field"]) == (400, field)
    assert alice.http("POST", f"/rooms/{unique('no')}/attachments", {"type": "image/png", "bytes": 5})[0] == 404


def test_a_members_room_shows_its_files_to_members_only(alice: Client, bob: Client) -> None:
    room, carol = unique("room"), Client(alice.stage, unique("carol"))
    ok(alice, "PUT", f"/rooms/{room}", MEMBERS)
    bring(alice, room, bob)
    assert carol.http("POST", f"/rooms/{room}/attachments", {"type": "image/png", "bytes": 5})[0] == 403
    message = posted(alice, room, "for us", attachments=[uploaded(alice, room)])

    assert ok(bob, "GET", path(message, "/attachments"))["attachments"][0]["name"] == "cat.png"
    assert carol.http("GET", path(message, "/attachments"))[0] == 403


def test_a_deletion_deletes_the_files_of_its_message(platform: RunningStage, alice: Client) -> None:
    room = unique("room")
    posted(alice, room, "first")
    gone, stays = uploaded(alice, room), uploaded(alice, room)
    message = posted(alice, room, "with one", attachments=[gone])
    posted(alice, room, "with another", attachments=[stays])

    assert alice.http("DELETE", path(message))[0] == 202

    assert "attachments" not in shown(alice, message, "deletedAt")
    assert ok(alice, "GET", path(message, "/attachments"))["attachments"] == []
    assert read(message["attachments"][0]["url"])[0] == 404
    left = files(platform)
    assert (gone["id"] in left, stays["id"] in left) == (False, True)


@pytest.mark.timeout(600)
def test_exports_have_the_files_and_an_erasure_leaves_none(platform: RunningStage, bob: Client) -> None:
    me, operator = Client(platform, unique("sharer")), Client(platform, None, "ops")
    room = unique("room")
    ok(bob, "PUT", f"/rooms/{room}", MEMBERS)
    bring(bob, room, me)
    named, unnamed = uploaded(me, room), uploaded(me, room, b"not sent yet", "text/plain")
    message = posted(me, room, "mine", attachments=[named])
    his = uploaded(bob, room)
    posted(bob, room, "his", attachments=[his])

    assert me.http("POST", "/export")[0] == bob.http("POST", f"/rooms/{room}/export")[0] == 202
    found = [
        {line["row"]["id"]: base64.b64decode(line["row"]["base64"]) for line in lines if line["kind"] == "attachments"}
        for _, lines in (exported(me, "/export"), exported(bob, f"/rooms/{room}/export"))
    ]
    assert found == [
        {named["id"]: PNG, unnamed["id"]: b"not sent yet"},
        {named["id"]: PNG, his["id"]: PNG},
    ]

    assert operator.http("POST", f"/users/{me.user}/erasure", {})[0] == 202
    done = until(lambda: erasure_of(operator, me.user), lambda each: each["state"] == "done", PATIENCE)

    assert done["counts"]["attachments"] == 2
    assert his["id"] in files(platform)
    assert not {named["id"], unnamed["id"]} & files(platform).keys()
    assert read(message["attachments"][0]["url"])[0] == 404
