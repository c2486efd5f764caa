"""The HTTP API's JWT authorizer: what a function sees of a token, and what ``tests/api`` does not try."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from localstage.core.model import HttpRoute
from localstage.gateway import Issuer
from tests.contract.localstage.gateway.gateway_fakes import AUDIENCE, FakeFunctions, http_model, running

STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Guarded:
    """An API whose routes need tokens, and the issuer of valid ones."""

    def __init__(self, issuer: Issuer, client: aiohttp.ClientSession) -> None:
        self.issuer = issuer
        self.client = client

    async def get(self, path: str, authorization: str | None) -> aiohttp.ClientResponse:
        headers = {} if authorization is None else {"Authorization": authorization}
        async with self.client.get(path, headers=headers) as response:
            await response.read()
            return response

    def sign(self, key: Any = None, kid: str | None = None, **claims: Any) -> str:
        """Return a valid token with these changes; a claim of ``None`` is left out."""
        own = self.issuer._key
        now = int(time.time())
        right = {"iss": self.issuer.url, "sub": "alice", "aud": AUDIENCE, "scope": "chat:read", "iat": now}
        chosen = {**right, "exp": now + 60, **claims}
        headers = {"kid": own.id if kid is None else kid}
        payload = {name: value for name, value in chosen.items() if value is not None}
        return jwt.encode(payload, own.private if key is None else key, algorithm="RS256", headers=headers)


@pytest.fixture
def functions() -> FakeFunctions:
    made = FakeFunctions()
    made.handlers["Echo"] = lambda event: {"statusCode": 200}
    return made


@pytest.fixture
async def api(functions: FakeFunctions, issuer: Issuer) -> AsyncIterator[Guarded]:
    model = http_model(
        HttpRoute("GET /any", "Echo", "Jwt"),
        HttpRoute("GET /read", "Echo", "Jwt", ("chat:read", "chat:admin")),
        HttpRoute("GET /open", "Echo", None),
        issuer=issuer.url,
    )
    async with (
        running(model, functions) as gateway,
        aiohttp.ClientSession(gateway.http_url) as client,
    ):
        yield Guarded(issuer, client)


async def test_the_keys_of_an_issuer_are_asked_for_without_the_proxy_of_the_environment(
    api: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    assert (await api.get("/any", f"Bearer {api.sign()}")).status == 200


async def test_a_functions_event_has_the_claims_as_texts_and_the_scopes_that_matched(
    api: Guarded, functions: FakeFunctions
) -> None:
    token = api.sign(scope="chat:read other", groups=["a", "b"], verified=True, level=7, nothing=None, exp=2**33)

    response = await api.get("/read", f"Bearer {token}")

    assert response.status == 200
    authorizer = functions.of("Echo")[0]["requestContext"]["authorizer"]
    assert authorizer["jwt"]["scopes"] == ["chat:read"]
    claims = authorizer["jwt"]["claims"]
    assert claims["sub"] == "alice"
    assert claims["scope"] == "chat:read other"
    assert claims["groups"] == "[a b]"
    assert claims["verified"] == "true"
    assert claims["level"] == "7"
    assert claims["exp"] == str(2**33)


@pytest.mark.parametrize(
    "claims",
    [{"aud": None, "client_id": AUDIENCE}, {"aud": ["other", AUDIENCE]}, {"iat": None}, {"nbf": 1}],
)
async def test_tokens_that_aws_accepts_are_accepted(api: Guarded, claims: dict[str, Any]) -> None:
    assert (await api.get("/read", f"Bearer {api.sign(**claims)}")).status == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": None},
        {"exp": "soon"},
        {"iat": 2**33},
        {"iss": None},
        {"aud": []},
        {"aud": "other", "client_id": AUDIENCE},
        {"aud": None, "client_id": None},
        {"kid": ""},
        {"key": STRANGER},
    ],
    ids=lambda claims: "-".join(f"{name}={str(value)[:12]}" for name, value in claims.items()),
)
async def test_a_token_that_is_wrong_in_a_rare_way_is_a_401_and_runs_nothing(
    api: Guarded, functions: FakeFunctions, claims: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    token = api.sign(**claims)

    response = await api.get("/read", f"Bearer {token}")

    assert response.status == 401
    assert await response.json() == {"message": "Unauthorized"}
    assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]
    assert functions.events == []
    assert token not in caplog.text
