"""P17: On a whole stage, a file is uploaded, named by a message, read by a link, and gone with its message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.e2e.clients import Client, unique, until
from tests.e2e.conftest import RunningStage
from tests.e2e.test_live import Subscriber
from tests.e2e.test_rooms import ok, path, posted, shown
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
        if each["Key"].startswith("lock-"):
            continue
        tags = s3.get_object_tagging(Bucket=bucket, Key=each["Key"])["TagSet"]
        found[each["Key"].rpartition("/")[2]] = next(tag["Value"] for tag in tags if tag["Key"] == "state")
    return found


def test_a_file_goes_to_all_who_may_read_its_message_until_that_is_deleted(
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

    assert alice.http("DELETE", path(message))[0] == 202

    assert "attachments" not in shown(alice, message, "deletedAt")
    assert read(fresh[0]["url"])[0] == 404
    assert not {image["id"], paper["id"]} & files(platform).keys()
