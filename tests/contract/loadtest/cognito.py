"""The token endpoint of a Cognito user pool with one client."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

CLIENT, SECRET = "3nq8example", "a+secret/with:signs="


class Cognito:
    """``POST /oauth2/token``. Each token is valid for an hour; ``issue`` makes one with the given scopes."""

    def __init__(self, issue: Callable[[str], str]) -> None:
        self._issue = issue
        self.requests: list[dict[str, list[str]]] = []
        pool = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                status, answer = pool.answer(
                    self.path, dict(self.headers), self.rfile.read(int(self.headers["content-length"]))
                )
                self.send_response(status)
                self.send_header("content-type", "application/json;charset=UTF-8")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/oauth2/token"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        headers = {name.lower(): value for name, value in headers.items()}
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

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
