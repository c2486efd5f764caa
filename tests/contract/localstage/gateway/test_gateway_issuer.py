"""The token issuer over loopback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest

from localstage.gateway import Issuer
from localstage.gateway.issuer import CLIENT_ID


async def post(url: str, body: bytes | Any, **headers: str) -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with aiohttp.ClientSession() as session, session.post(url, data=data, headers=headers) as response:
        return response.status, json.loads(await response.read())


def public_claims(issuer: Issuer, token: str) -> dict[str, Any]:
    keys = jwt.PyJWKClient(f"{issuer.url}/.well-known/jwks.json")
    key = keys.get_signing_key_from_jwt(token)
    return jwt.decode(token, key.key, algorithms=["RS256"], audience=CLIENT_ID, issuer=issuer.url)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        ({"scopes": []}, "user"),
        ({"user": "", "scopes": []}, "user"),
        ({"user": "a\nb", "scopes": []}, "user"),
        ({"user": "alice"}, "scopes"),
        ({"user": "alice", "scopes": ["ok", "a b"]}, "scopes[1]"),
        ({"user": "alice", "scopes": [], "ttl": 0}, "ttl"),
        ({"user": "alice", "scopes": [], "role": "admin"}, "role"),
    ],
)
async def test_a_bad_request_names_its_field(issuer: Issuer, body: Any, field: str) -> None:
    status, answer = await post(issuer.token_url, body)

    assert status == 400
    assert answer["error"]["code"] == "invalid_request"
    assert answer["error"]["details"][0]["field"] == field


@pytest.mark.parametrize("secret", ["", "?secret=guessed", "?secret=%C3%BC"])
async def test_a_caller_without_the_secret_of_the_token_url_gets_no_token(issuer: Issuer, secret: str) -> None:
    """Another user of the machine finds the port, but not the secret."""
    status, answer = await post(f"{issuer.url}/token{secret}", {"user": "alice", "scopes": []})

    assert status == 403
    assert answer["message"].startswith("secret: ")


async def test_key_secret_and_port_survive_a_restart(tmp_path: Path) -> None:
    first = Issuer(tmp_path)
    await first.start()
    token = first.issue("alice", ["chat:read"])
    await first.stop()

    second = Issuer(tmp_path)
    await second.start()
    claims = await asyncio.to_thread(public_claims, second, token)
    await second.stop()

    assert second.token_url == first.token_url
    assert claims["sub"] == "alice"
