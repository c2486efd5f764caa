"""Tokens are verified by signature, claims and expiry, with cached keys of the issuer."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt import PyJWK
from jwt.algorithms import RSAAlgorithm

from headrace.api.authorizer import REFETCH_SECONDS, IssuerError, TokenVerifier, token_from_subprotocols
from headrace.core.errors import TokenExpired, Unauthorized, Unavailable

ISSUER = "https://issuer.example"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public(key: rsa.RSAPrivateKey, key_id: str) -> PyJWK:
    return PyJWK({**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": key_id, "alg": "RS256"})


def verifier(**more: Any) -> TokenVerifier:
    return TokenVerifier(ISSUER, ("app", "other-app"), "pre/", fetch=lambda: [public(KEY, "k1")], **more)


def token(key: rsa.RSAPrivateKey = KEY, key_id: str = "k1", algorithm: str = "RS256", **changes: Any) -> str:
    now = int(time.time())
    claims: dict[str, Any] = {
        "iss": ISSUER,
        "sub": "alice",
        "username": "Alice",
        "client_id": "app",
        "scope": "pre/chat:write pre/chat:read foreign/ops",
        "iat": now,
        "exp": now + 60,
    }
    claims |= changes
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": key_id})


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://elsewhere.example"},
        {"client_id": "foreign"},
        {"aud": "foreign"},
        {"aud": ["foreign", "strange"]},
        {"exp": None},
        {"sub": None},
        {"nbf": 4102444800},
        {"iat": 4102444800},
        {"sub": "with#mark"},
        {"key": OTHER_KEY},
    ],
)
def test_a_token_with_a_foreign_key_or_a_foreign_or_missing_claim_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        verifier().verify(token(**changes))


@pytest.mark.parametrize("claim", ["iat", "nbf"])
def test_a_clock_behind_that_of_the_issuer_refuses_no_token(claim: str) -> None:
    assert verifier().verify(token(**{claim: int(time.time()) + 3})).subject == "alice"
    with pytest.raises(TokenExpired):
        verifier().verify(token(exp=int(time.time()) - 1))


def test_an_audience_counts_before_the_client_id() -> None:
    assert verifier().verify(token(aud=["x", "other-app"], client_id="foreign")).subject == "alice"


def test_an_expired_token_is_distinguished_from_a_forged_one() -> None:
    with pytest.raises(TokenExpired):
        verifier().verify(token(exp=int(time.time()) - 1))


def test_unknown_key_ids_do_not_fetch_the_keys_each_time() -> None:
    fetched: list[float] = []
    now = [0.0]

    def fetch() -> list[PyJWK]:
        fetched.append(now[0])
        return [public(KEY, "k1")]

    checked = TokenVerifier(ISSUER, ("app",), "pre/", fetch=fetch, monotonic=lambda: now[0])
    for second in (0.0, 1.0, 2.0, REFETCH_SECONDS + 1):
        now[0] = second
        with pytest.raises(Unauthorized):
            checked.verify(token(key_id="unknown"))

    assert fetched == [0.0, REFETCH_SECONDS + 1]


def test_after_its_first_fetch_an_unavailable_issuer_is_not_needed() -> None:
    unavailable = [True]
    now = [0.0]

    def fetch() -> list[PyJWK]:
        if unavailable[0]:
            raise IssuerError("no route")
        return [public(KEY, "k1")]

    checked = TokenVerifier(ISSUER, ("app",), "pre/", fetch=fetch, monotonic=lambda: now[0])
    with pytest.raises(Unavailable):
        checked.verify(token())
    unavailable[0] = False
    assert checked.verify(token()).subject == "alice"

    unavailable[0], now[0] = True, 1e6
    assert checked.verify(token()).subject == "alice"


def test_the_token_is_read_from_the_subprotocol_header() -> None:
    assert token_from_subprotocols(["headrace.v1", "abc.def.ghi"]) == "abc.def.ghi"
    assert token_from_subprotocols(["headrace.v1", "abc.def.ghi", "headrace.forbidden"]) == "abc.def.ghi"


@pytest.mark.parametrize("header", ["", "headrace.v1", "abc.def.ghi", "other,abc", "headrace.v1,a,b", "headrace.v1,"])
def test_any_other_subprotocols_are_refused(header: str) -> None:
    with pytest.raises(Unauthorized, match=r"headrace\.v1"):
        token_from_subprotocols(header.split(","))
