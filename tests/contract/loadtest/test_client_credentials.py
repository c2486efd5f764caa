"""Tokens of an OAuth client, from a server that answers as Cognito's token endpoint does."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from loadtest.client.credentials import ClientCredentials, Credentials
from localstage.client.errors import TokenRefused

CLIENT, SECRET = "3nq8example", "a+secret/with:signs="
LASTS = 3600


class Cognito:
    """``POST /oauth2/token`` of a user pool with one client. Each token is valid for an hour."""

    def __init__(self) -> None:
        self.requests: list[dict[str, list[str]]] = []
        self.failing = False
        self.busy = self.most_at_once = 0
        pool = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                pool.busy += 1
                pool.most_at_once = max(pool.most_at_once, pool.busy)
                status, answer = pool.answer(
                    self.path, dict(self.headers), self.rfile.read(int(self.headers["content-length"]))
                )
                pool.busy -= 1
                self.send_response(status)
                self.send_header("content-type", "application/json;charset=UTF-8")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/oauth2/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        headers = {name.lower(): value for name, value in headers.items()}
        if self.failing:
            return 500, {}
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
        claims = {"sub": CLIENT, "scope": scope, "token_use": "access", "jti": str(len(self.requests))}
        token = f"h.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.s"
        return 200, {"access_token": token, "expires_in": LASTS, "token_type": "Bearer"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def cognito() -> Iterator[Cognito]:
    running = Cognito()
    yield running
    running.server.shutdown()
    running.server.server_close()


def client(cognito: Cognito, clock: Clock, scopes: str = "", secret: str = SECRET) -> ClientCredentials:
    return ClientCredentials(cognito.url, CLIENT, secret, scopes, clock=clock)


def test_a_token_is_fetched_once_and_kept_for_most_of_its_life(cognito: Cognito) -> None:
    clock = Clock()
    token = client(cognito, clock)

    first = token()
    clock.now += LASTS * 0.79

    assert token() == first
    assert cognito.requests == [{"grant_type": ["client_credentials"]}]


def test_a_token_is_replaced_before_it_expires(cognito: Cognito) -> None:
    clock = Clock()
    token = client(cognito, clock)

    first = token()
    clock.now += LASTS * 0.81

    assert token() != first
    assert len(cognito.requests) == 2


def test_many_users_at_once_cause_one_request(cognito: Cognito) -> None:
    token, got = client(cognito, Clock()), []
    users = [threading.Thread(target=lambda: got.append(token())) for _ in range(32)]
    for each in users:
        each.start()
    for each in users:
        each.join()

    assert (len(cognito.requests), cognito.most_at_once, len(set(got)), len(got)) == (1, 1, 1, 32)


def test_an_issuer_that_fails_does_not_end_a_run_while_the_token_is_valid(cognito: Cognito) -> None:
    clock = Clock()
    token = client(cognito, clock)
    first = token()
    cognito.failing = True

    clock.now += LASTS * 0.9
    assert token() == first
    clock.now += LASTS * 0.11
    with pytest.raises(TokenRefused, match="gave the client 3nq8example no token: 500"):
        token()
    cognito.failing = False
    assert token() != first


@pytest.mark.parametrize(
    ("scopes", "secret", "reason"),
    [("headrace/ops", SECRET, "400 invalid_scope"), ("", "wrong", "400 invalid_client")],
)
def test_a_refusal_says_why_and_not_the_secret(cognito: Cognito, scopes: str, secret: str, reason: str) -> None:
    with pytest.raises(TokenRefused, match=reason) as refused:
        client(cognito, Clock(), scopes, secret)()
    assert secret not in str(refused.value)


def test_an_issuer_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(TokenRefused, match=r"http://127\.0\.0\.1:1/oauth2/token gave no token"):
        ClientCredentials("http://127.0.0.1:1/oauth2/token", CLIENT, SECRET)()


def test_the_variables_of_a_producer_give_a_sender_for_any_user(cognito: Cognito) -> None:
    environ = {"CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET, "SCOPES": "headrace/events:write headrace/chat:read"}

    sender = Credentials.from_environment(cognito.url, environ).sender(5)

    assert (sender.user_id, sender.trusted) == (CLIENT, True)
    assert cognito.requests[0]["scope"] == [environ["SCOPES"]]
