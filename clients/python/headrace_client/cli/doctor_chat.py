"""Checks of a stage as its users: a room, an invitation, a message that is followed live and read back.

They leave a room doctor-… without members. Its messages expire, as all messages do.
"""

from __future__ import annotations

import json
import time
from typing import Any

from .doctor import READ_SECONDS, Check
from .doctor_stage import Failed, Stage, body_of, why_refused
from .stage import claims_of

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
    sent = f"a check from outside: {stage.room}"
    text = {"action": "sendMessage", "roomId": stage.room, "message": sent}
    subscribe = {"action": "subscribe", "roomId": stage.room}
    ack = stage.converse((subscribe, "subscribed"), (text, "ack"), ({}, sent))["ack"]
    began = time.monotonic()
    while time.monotonic() - began < READ_SECONDS:
        answer = stage.read(f"/rooms/{stage.room}/messages")
        if any(item.get("message") == sent for item in body_of(answer).get("items", ())):
            if ack.get("lane") != "main":
                raise Failed(f"accepted on the {ack.get('lane')} lane: the broker does not confirm; live and readable")
            return f"lane main, followed live, readable after {time.monotonic() - began:.2f} s"
        time.sleep(0.2)
    raise Failed(f"acknowledged (trace {ack.get('correlationId')}), but not readable within {READ_SECONDS:g} s")


def leave(stage: Stage) -> str:
    """All leave the room for good, so that it is in no user's list."""
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
    if "sub" not in (claims := claims_of(token)):
        raise Failed("the token is no JWT with a subject")
    return str(claims["sub"])
