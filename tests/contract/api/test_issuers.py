"""The WebSocket authorizer accepts the tokens of real kinds of issuers, over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from headrace.api import authorizer
from headrace.api.authorizer import FETCH_BYTES, IssuerError, TokenVerifier, signing_keys
from headrace.core.errors import Unavailable
from tests.contract.http_server import HttpServer, Received, status
from tests.worlds.ports import free_port

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
JWK = {**RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "k1", "use": "sig", "alg": "RS256"}
ENCRYPTION_KEY = {**JWK, "kid": "k2", "use": "enc", "alg": "RSA-OAEP"}
DISCOVERY = "/.well-known/openid-configuration"

Answer = tuple[int, bytes]


class IssuerServer(HttpServer):
    """An issuer at ``url``; ``answers`` are by path."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{self.port}"
        self.answers: dict[str, Answer | Iterator[bytes]] = {}
        self.answer = self._of

    @property
    def asked(self) -> list[str]:
        """The requested paths."""
        return [each.path for each in self.received]

    def _of(self, request: Received) -> bytes | Iterator[bytes]:
        found = self.answers.get(request.path, (404, b"not here"))
        if isinstance(found, tuple):
            return status(*found).replace(b"\r\n", b"\r\nlocation: /elsewhere\r\n", 1)
        return found

    def serve(self, path: str, document: object) -> None:
        self.answers[path] = (200, json.dumps(document).encode())


@pytest.fixture
def server() -> Iterator[IssuerServer]:
    server = IssuerServer()
    yield server
    server.close()


def token(issuer: str, **claims: Any) -> str:
    now = int(time.time())
    return jwt.encode(
        {"iss": issuer, "sub": "alice", "iat": now, "exp": now + 60, **claims},
        KEY,
        algorithm="RS256",
        headers={"kid": "k1"},
    )


KEY_WITHOUT_ALG = {name: value for name, value in JWK.items() if name != "alg"}
SHAPES = {
    "cognito": (
        "/us-east-1_Ab12",
        "/us-east-1_Ab12/.well-known/jwks.json",
        [JWK],
        {"client_id": "app", "scope": "headrace/chat:read headrace/chat:write", "token_use": "access"},
        "headrace/",
    ),
    "okta": (
        "/oauth2/default",
        "/oauth2/default/v1/keys",
        [JWK],
        {"aud": "app", "cid": "0oa1", "scp": ["chat:read", "chat:write"]},
        "",
    ),
    "entra": (
        "/tenant/v2.0",
        "/tenant/discovery/v2.0/keys",
        [KEY_WITHOUT_ALG],
        {"aud": "app", "azp": "0f1e", "scp": "chat:read chat:write", "ver": "2.0"},
        "",
    ),
    "keycloak": (
        "/realms/home",
        "/realms/home/protocol/openid-connect/certs",
        [ENCRYPTION_KEY, JWK],
        {"aud": ["account", "app"], "azp": "web", "scope": "openid chat:read chat:write"},
        "",
    ),
    "auth0": (
        "/",
        "/.well-known/jwks.json",
        [JWK],
        {"aud": ["app", "https://auth0.example/userinfo"], "scope": "chat:read chat:write"},
        "",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_token_of_this_kind_of_issuer_is_accepted(server: IssuerServer, shape: str) -> None:
    path, keys_path, keys, claims, prefix = SHAPES[shape]
    issuer = server.url + path
    server.serve(path.rstrip("/") + DISCOVERY, {"issuer": issuer, "jwks_uri": server.url + keys_path})
    server.serve(keys_path, {"keys": keys})

    caller = TokenVerifier(issuer, ("app",), prefix).verify(token(issuer, **claims))

    assert (caller.subject, caller.scopes - {"openid"}) == ("alice", {"chat:read", "chat:write"})
    assert server.asked == [path.rstrip("/") + DISCOVERY, keys_path]


def test_both_documents_are_fetched_once_for_many_tokens(server: IssuerServer) -> None:
    server.serve(DISCOVERY, {"issuer": server.url, "jwks_uri": f"{server.url}/keys"})
    server.serve("/keys", {"keys": [JWK]})
    verifier = TokenVerifier(server.url, ("app",))

    for _ in range(3):
        verifier.verify(token(server.url, aud="app"))

    assert server.asked == [DISCOVERY, "/keys"]


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://other.example", "jwks_uri": "{url}/keys"},
        {"issuer": "{url}/", "jwks_uri": "{url}/keys"},
        {"jwks_uri": "{url}/keys"},
        {"issuer": "{url}"},
        {"issuer": "{url}", "jwks_uri": ["{url}/keys"]},
        {"issuer": "{url}", "jwks_uri": "http://keys.example/keys"},
        {"issuer": "{url}", "jwks_uri": "file:///etc/passwd"},
        {"issuer": "{url}", "jwks_uri": "http://[::1"},
        ["{url}"],
    ],
    ids=["foreign", "slash", "unnamed", "no keys", "array", "not https", "file", "no URL", "not an object"],
)
def test_a_discovery_document_that_cannot_be_trusted_gives_no_keys(server: IssuerServer, document: Any) -> None:
    server.answers[DISCOVERY] = (200, json.dumps(document).replace("{url}", server.url).encode())
    server.serve("/keys", {"keys": [JWK]})

    with pytest.raises(IssuerError):
        signing_keys(server.url)

    assert server.asked == [DISCOVERY]


@pytest.mark.parametrize(
    "answer",
    [
        (302, b""),
        (500, b""),
        (200, b"<html>"),
        (200, b"[1]"),
        (200, b'{"keys": ['),
        (200, b"[" * 100_000),
        (200, b'{"keys": []}'),
        (200, b'{"keys": 5}'),
        (200, b'{"keys": ["k1", {"kty": "RSA"}]}'),
        (200, b'{"keys": [' + json.dumps(ENCRYPTION_KEY).encode() + b"]}"),
        (200, b'{"keys": [' + json.dumps({**JWK, "use": "enc"}).encode() + b"]}"),
        (200, json.dumps({"keys": [JWK], "padding": "x" * FETCH_BYTES}).encode()),
    ],
    ids=lambda answer: f"{answer[0]} {answer[1][:20]!r}",
)
def test_a_key_set_that_cannot_be_used_is_an_unavailable_issuer(server: IssuerServer, answer: Answer) -> None:
    server.serve(DISCOVERY, {"issuer": server.url, "jwks_uri": f"{server.url}/keys"})
    server.answers["/keys"] = answer

    with pytest.raises(Unavailable):
        TokenVerifier(server.url, ("app",)).verify(token(server.url, aud="app"))

    assert "/elsewhere" not in server.asked


def test_an_issuer_that_sends_its_answer_in_drops_is_given_up(
    server: IssuerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authorizer, "FETCH_SECONDS", 0.3)

    def drops() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            time.sleep(0.02)
            yield b" "

    server.answers[DISCOVERY] = drops()

    with pytest.raises(IssuerError, match=r"longer than 0\.3 s"):
        signing_keys(server.url)


def test_an_issuer_that_refuses_connections_is_unavailable() -> None:
    with pytest.raises(IssuerError, match="URLError"):
        signing_keys(f"http://127.0.0.1:{free_port()}")
