"""A page that is refused a connection sees why."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import jwt
import pytest
import websocket
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.e2e.clients import until
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


def test_a_page_sees_at_the_opened_connection_why_it_is_refused(platform: RunningStage) -> None:
    url, offered = platform.where["websocket_url"], ["headrace.token_expired", "headrace.forbidden"]
    tokens = {
        "headrace.token_expired": expired_token(platform),
        "headrace.forbidden": platform.token("alice", "ops"),
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
