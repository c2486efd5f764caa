"""Checks of a stage as its users: a room, an invitation, a message that is followed live and read back.

They leave a room doctor-… without members. Its messages expire, as all messages do.
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from typing import Any

import websocket

from ops.doctor import READ_SECONDS, Check, Failed, Stage, body_of, why_refused

STRANGER = "doctor-stranger"
"""A user who is invited when there is no second token."""


def room(stage: Stage) -> str:
    """A room of members is made by a request."""
    made = _changed(stage, "PUT", f"/rooms/{stage.room}", stage.needed_token(), {"kind": "members"})
    return f"{stage.room} of {made.get('createdBy')}"


def invitation(stage: Stage) -> str:
    """An invited user accepts; without a second token, a user is invited and the invitation is withdrawn."""
    token, friend = stage.needed_token(), stage.friend_token
    path = f"/rooms/{stage.room}/members/{_user_of(friend) if friend else STRANGER}"
    _changed(stage, "PUT", path, token, {})
    if not friend:
        _changed(stage, "DELETE", path, token, {})
        return "invited and withdrawn; give FRIEND_TOKEN, of another user, to accept one"
    joined = _changed(stage, "PUT", path, friend, {})
    if not joined.get("joinedAt"):
        raise Failed(f"accepted, but not in the room: {json.dumps(joined)[:200]}")
    return f"{_user_of(friend)} was invited and accepted"


def message(stage: Stage) -> str:
    """A message is acknowledged on the main lane, reaches a subscriber, and is in the history."""
    sent, frames = uuid.uuid4().hex, dict[str, dict[str, Any]]()
    connection = stage.connect(stage.needed_token())
    try:
        began = _ask(connection, frames, "subscribed", {"action": "subscribe", "roomId": stage.room})
        text = {"action": "sendMessage", "roomId": stage.room, "messageId": sent, "message": "a check from outside"}
        began = _ask(connection, frames, "ack", text)
        _ask(connection, frames, "messages", None)
        live = time.monotonic() - began
    finally:
        connection.close()
    ack = frames["ack"]
    while time.monotonic() - began < READ_SECONDS:
        answer = stage.read(f"/rooms/{stage.room}/messages")
        if any(item.get("messageId") == sent for item in body_of(answer).get("items", ())):
            if ack.get("lane") != "main":
                raise Failed(f"accepted on the {ack.get('lane')} lane: the broker does not confirm; live and readable")
            return f"lane main, live after {live:.2f} s, readable after {time.monotonic() - began:.2f} s"
        time.sleep(0.2)
    raise Failed(f"acknowledged (trace {ack.get('correlationId')}), but not readable within {READ_SECONDS:g} s")


def leave(stage: Stage) -> str:
    """All leave the room for good, so that it is in nobody's list."""
    for token in (stage.friend_token, stage.needed_token()):
        if token:
            _changed(stage, "DELETE", f"/rooms/{stage.room}/members/{_user_of(token)}", token, {"forGood": True})
    return f"{stage.room} has no members"


CHECKS: dict[str, Check] = {"room": room, "invitation": invitation, "message": message, "leave": leave}
"""The checks in their order; each has the docstring of what must hold."""


def _changed(stage: Stage, method: str, path: str, token: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = stage.request(method, path, token, body=body)
    if answer.status != 200:
        raise Failed(f"{method} {path}: {why_refused(answer)}")
    return body_of(answer)


def _user_of(token: str) -> str:
    """The subject of a token, whose signature the stage checks."""
    try:
        payload = token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"])
    except (IndexError, ValueError, KeyError):
        raise Failed("the token is no JWT with a subject") from None


def _ask(
    connection: websocket.WebSocket, frames: dict[str, dict[str, Any]], wanted: str, frame: dict[str, Any] | None
) -> float:
    """Send a frame and read until one of the type ``wanted`` has come; returns when it was sent."""
    began = time.monotonic()
    try:
        if frame:
            connection.send(json.dumps({**frame, "requestId": "doctor"}))
        while wanted not in frames:
            answer = json.loads(connection.recv())
            if answer.get("type") == "error":
                raise Failed(f"{answer['error'].get('code')}: {answer['error'].get('message')}")
            frames[answer.get("type", "")] = answer
    except (websocket.WebSocketException, OSError, ValueError) as error:
        raise Failed(f"no frame {wanted} came ({type(error).__name__})") from None
    return began
