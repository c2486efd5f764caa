"""The token endpoint of a Cognito user pool with one client."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from tests.contract.http_server import HttpServer, Received, status

CLIENT, SECRET = "3nq8example", "a+secret/with:signs="


class Cognito(HttpServer):
    """``POST /oauth2/token``. Each token is valid for an hour; ``issue`` makes one with the given scopes."""

    def __init__(self, issue: Callable[[str], str]) -> None:
        super().__init__()
        self._issue = issue
        self.requests: list[dict[str, list[str]]] = []
        self.url = f"http://127.0.0.1:{self.port}/oauth2/token"
        self.answer = lambda request: status(*self._answer(request))

    def _answer(self, request: Received) -> tuple[int, bytes]:
        code, found = self._found(request.path, request.headers, request.body)
        return code, json.dumps(found).encode()

    def _found(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        if path != "/oauth2/token" or headers["content-type"] != "application/x-www-form-urlencoded":
            return 400, {"error": "invalid_request"}
        if headers.get("authorization") != f"Basic {base64.b64encode(f'{CLIENT}:{SECRET}'.encode()).decode()}":
            return 400, {"error": "invalid_client"}
        asked = parse_qs(body.decode())
        if asked["grant_type"] != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        allowed = "headrace/events:write headrace/chat:read"
        scope = asked.get("scope", [allowed])[0]
        if not set(scope.split()) <= set(allowed.split()):
            return 400, {"error": "invalid_scope"}
        self.requests.append(asked)
        return 200, {"access_token": self._issue(scope), "expires_in": 3600, "token_type": "Bearer"}
