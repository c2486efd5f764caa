"""Connecting, sending and reading need a valid token with the right scope."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import jwt
import pytest
import websocket
from cryptography.hazmat.primitives.asymmetric import rsa

from loadtest.client.websocket import ConnectionRefused
from tests.e2e.clients import Client, message, unique, until
from tests.e2e.conftest import RunningStage


def forged_token(platform: RunningStage) -> str:
    """A token with the right claims and key id, signed with another key."""
    good = platform.token("alice", "chat:write", "chat:read")
    claims = jwt.decode(good, options={"verify_signature": False})
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": jwt.get_unverified_header(good)["kid"]})


def expired_token(platform: RunningStage) -> str:
    token = platform.token("alice", "chat:write", ttl=1)
    until(
        lambda: jwt.decode(token, options={"verify_signature": False})["exp"],
        lambda exp: exp < datetime.now(UTC).timestamp(),
    )
    return token


def test_connecting_needs_a_valid_token_with_a_scope(platform: RunningStage) -> None:
    expired, scopeless, forged, none = (Client(platform) for _ in range(4))
    expired.token = expired_token(platform)
    scopeless.token = platform.token("alice", "analytics:read")
    forged.token = forged_token(platform)
    none.token = "nonsense"

    for client, status in ((expired, "401"), (scopeless, "403"), (forged, "401"), (none, "401")):
        with pytest.raises(ConnectionRefused, match=status):
            client.connect()


def test_a_page_sees_at_the_opened_connection_why_it_is_refused(platform: RunningStage) -> None:
    url, offered = platform.where["websocket_url"], ["headrace.token_expired", "headrace.forbidden"]
    tokens = {
        "headrace.token_expired": expired_token(platform),
        "headrace.forbidden": platform.token("alice", "analytics:read"),
        "headrace.v1": platform.token("alice", "chat:read"),
    }
    for subprotocol, token in tokens.items():
        page = websocket.create_connection(url, timeout=20.0, subprotocols=["headrace.v1", token, *offered])
        page.send('{"action": "ping"}')
        answer = json.loads(page.recv())
        page.close()

        assert page.getsubprotocol() == subprotocol
        assert (answer["type"] == "pong") == (subprotocol == "headrace.v1"), answer
    with pytest.raises(websocket.WebSocketBadStatusException, match="401"):
        websocket.create_connection(url, subprotocols=["headrace.v1", forged_token(platform), *offered])


def test_a_refusal_names_the_missing_scope(platform: RunningStage) -> None:
    reader, writer, room = Client(platform, None, "chat:read"), Client(platform, None, "chat:write"), unique("room")

    frame = reader.connect().request({"action": "sendMessage", **message(room)})

    assert frame["error"]["code"] == "forbidden"
    assert reader.http("POST", f"/rooms/{room}/messages", {"message": "x"})[0] == 403
    assert writer.http("GET", f"/rooms/{room}/messages")[0] == 403
    assert Client(platform).http("GET", f"/rooms/{room}/messages")[0] == 404


def test_http_without_a_token_or_with_a_forged_one_is_401(platform: RunningStage) -> None:
    client = Client(platform)

    for token in ("", forged_token(platform), "nonsense"):
        client.token = token
        assert client.http("GET", "/rooms/r/messages")[0] == 401
