"""Requests for tokens, checked field by field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MAX_NAME = 128
MAX_SCOPES = 50
MAX_SCOPE = 256
MAX_TTL = 7 * 24 * 3600


class BadTokenRequest(Exception):
    """The request for a token is invalid; ``answer`` is the body of the 400."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.answer: dict[str, Any] = {
            "error": {
                "code": "invalid_request",
                "message": f"{field}: {message}",
                "details": [{"field": field, "message": message}],
            }
        }


@dataclass(frozen=True)
class TokenRequest:
    """A token for ``user`` with ``scopes``, valid for ``ttl`` seconds."""

    user: str
    scopes: tuple[str, ...]
    username: str | None
    ttl: int

    @classmethod
    def parse(cls, body: bytes) -> TokenRequest:
        """Return what a body asks for.

        Raises:
            BadTokenRequest: a field is missing, unknown, or not of the accepted form.
        """
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            raise BadTokenRequest("body", 'must be JSON such as {"user": "alice", "scopes": ["chat:read"]}') from None
        if not isinstance(value, dict):
            raise BadTokenRequest("body", "must be a JSON object")
        for name in value.keys() - {"user", "scopes", "username", "ttl"}:
            raise BadTokenRequest(name[:MAX_NAME], "is not a field; there are user, scopes, username and ttl")
        username = None if value.get("username") is None else _name(value, "username")
        return cls(_name(value, "user"), _scopes(value.get("scopes")), username, _ttl(value.get("ttl", 3600)))


def _name(value: dict[str, Any], field: str) -> str:
    name = value.get(field)
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise BadTokenRequest(field, f"must be a text of 1 to {MAX_NAME} printable characters")
    return name


def _scopes(scopes: Any) -> tuple[str, ...]:
    if not isinstance(scopes, list) or len(scopes) > MAX_SCOPES:
        raise BadTokenRequest("scopes", f"must be a list of at most {MAX_SCOPES} scopes")
    for index, scope in enumerate(scopes):
        if not isinstance(scope, str) or not _is_scope(scope):
            raise BadTokenRequest(f"scopes[{index}]", "must be a text without spaces, such as chat:write")
    return tuple(scopes)


def _is_scope(scope: str) -> bool:
    return 1 <= len(scope) <= MAX_SCOPE and scope.isascii() and scope.isprintable() and " " not in scope


def _ttl(ttl: Any) -> int:
    if not isinstance(ttl, int) or isinstance(ttl, bool) or not 1 <= ttl <= MAX_TTL:
        raise BadTokenRequest("ttl", f"must be a whole number of seconds from 1 to {MAX_TTL}")
    return ttl
