"""Ids of rooms and users of any script on a whole stage, and what tests of messages in rooms share."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.clients import Client, message, unique, until
from tests.e2e.conftest import RunningStage

MEMBERS = {"kind": "members"}
IDS = ["küche-☕", "厨房", "a b+c&d=e%41", "..", "Ωmega​", "نمی‌خواهم", "😀" * 20, "null", "0", "'; --"]
IDS += ["[a]\\{b}^|%2F", "%252e%3f"]
"""Of nicks in chat logs. No part between client and function decodes them twice."""


def ok(client: Client, method: str, path: str, body: Any = None) -> Any:
    status, answer, _ = client.http(method, path, body)
    assert status == 200, answer
    return answer


def member(room: str, user: str) -> str:
    return f"/rooms/{quote(room, safe='')}/members/{quote(user, safe='')}"


def bring(owner: Client, room: str, user: Client) -> Any:
    """The user's membership after ``owner`` invited the user, who accepted."""
    ok(owner, "PUT", member(room, user.user))
    return ok(user, "PUT", member(room, user.user))


def send(client: Client, room: str, **more: Any) -> tuple[int, Any]:
    status, body, _ = client.http("POST", "/messages/batch", {"events": [message(room, **more)]})
    return status, body


def path(item: dict[str, Any], more: str = "") -> str:
    return f"/rooms/{item['roomId']}/messages/{quote(item['key'], safe='')}{more}"


def posted(client: Client, room: str, text: str, **more: Any) -> dict[str, Any]:
    """A message that ``client`` sent, as it is in the history."""
    assert send(client, room, message=text, **more)[0] == 202
    found = until(lambda: client.wait_for(room, 1), lambda items: [each for each in items if each["message"] == text])
    item: dict[str, Any] = next(each for each in found if each["message"] == text)
    return item


def shown(client: Client, item: dict[str, Any], name: str) -> dict[str, Any]:
    """The message in its room's history, once it has the field ``name``."""

    def found() -> dict[str, Any]:
        (only,) = [each for each in client.room(item["roomId"]) if each["key"] == item["key"]]
        return only

    changed: dict[str, Any] = until(found, lambda each: name in each)
    return changed


@pytest.mark.parametrize("name", IDS)
def test_ids_of_rooms_and_users_may_use_any_script(platform: RunningStage, name: str) -> None:
    user = name if name.isprintable() else "plain"  # the stage's issuer refuses names of unprintable characters
    owner, guest = Client(platform, f"{user} {unique('o')}"), Client(platform, f"{unique('g')} {user}")
    room = f"{name} {unique('r')}"
    path = f"/rooms/{quote(room, safe='')}"

    ok(owner, "PUT", path, MEMBERS)
    bring(owner, room, guest)

    assert send(guest, room)[0] == 202
    found = {each["userId"] for each in ok(guest, "GET", f"{path}/members")["items"]}
    assert len(found) == 2
    ok(guest, "DELETE", member(room, guest.user))
    assert send(guest, room)[0] == 403
