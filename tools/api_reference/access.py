"""Which token each route and each action accepts, for the page of scopes.

``tests/api/test_access.py`` sends every token to every route and action of a stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.api.claims import CONNECT_SCOPES
from headrace.core.caller import EVENTS_WRITE
from tools.api_reference.texts import table

SCOPES: dict[str, str] = table("scopes")
"""What each scope allows."""
INVALID: dict[str, str] = table("invalid_tokens")
"""Tokens that no route accepts."""
CONNECT = "$connect"
YES = "yes"
OTHER_USERS: dict[str, str] = table("other_users")
"""What another user gets where it is not a refusal as ``forbidden``; an ad has no owner."""

OF_THE_EXAMPLE = {"POST /streams/{stream}/events": [EVENTS_WRITE], "sendEvents": [EVENTS_WRITE]}
"""The scopes that the stream of the example accepts, where others accept more: users send no openings of doors."""


def accepted(http: Mapping[str, Any], websocket: Mapping[str, Any]) -> dict[str, list[str] | None]:
    """The scopes of each route and action, any of which is enough; ``None`` needs no token, ``[]`` any valid one."""
    found: dict[str, list[str] | None] = {
        f"{method.upper()} {path}": [scope for each in operation["security"] for scope in each["token"]]
        if operation["security"]
        else None
        for path, methods in http["paths"].items()
        for method, operation in methods.items()
    }
    return found | {name: each["x-scopes"] for name, each in websocket["operations"].items() if "reply" in each}


def answer(key: str, scopes: list[str] | None, granted: Iterable[str]) -> str:
    """What a valid token with the scopes ``granted`` gets: ``YES``, or the status or code of its refusal."""
    if " " not in key and not CONNECT_SCOPES.intersection(granted):
        return "403"
    scopes = OF_THE_EXAMPLE.get(key, scopes)
    if not scopes or set(scopes).intersection(granted):
        return YES
    return "403" if " " in key else "forbidden"


def answer_to_another_user(key: str, scopes: list[str] | None) -> str:
    """What a user gets for a room that they are not in, or for what belongs to another user; "–" without an owner."""
    if key in OTHER_USERS:
        return OTHER_USERS[key]
    if not any(scope.startswith("chat:") for scope in scopes or ()):
        return "–"
    return "403" if " " in key else "forbidden"
