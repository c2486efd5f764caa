"""Verifies access tokens on ``$connect``, where API Gateway has no JWT authorizer, by the same rules as its HTTP API.

RSA signatures only; ``iss``, ``exp``, ``nbf``, ``iat``, and ``aud`` (or ``client_id`` when there is no ``aud``) are
checked. Rules: API Gateway developer guide, "Control access to HTTP APIs with JWT authorizers".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import jwt
from jwt import PyJWK, PyJWKClient, PyJWTError

from headrace.api.auth import SUBPROTOCOL, caller_from_claims
from headrace.core.caller import Caller
from headrace.core.errors import TokenExpired, Unauthorized, Unavailable

ALGORITHMS = ("RS256", "RS384", "RS512")
TOKEN_LIMIT = 8192
KEYS_TIMEOUT_SECONDS = 1.5
KEYS_LIFESPAN_SECONDS = 7200
REFETCH_SECONDS = 10.0
"""An unknown key id makes the keys be fetched again, but not more often than this: anyone can send an unknown id."""


class TokenVerifier:
    """Verifies tokens of one issuer; its keys are fetched on first use and kept for two hours.

    ``fetch`` returns the current signing keys.
    """

    def __init__(
        self,
        issuer: str,
        audience: tuple[str, ...],
        prefix: str = "",
        *,
        fetch: Callable[[], list[PyJWK]] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self.prefix = prefix
        self._fetch = fetch or _fetcher(issuer)
        self._monotonic = monotonic
        self._keys: dict[str, PyJWK] = {}
        self._fetched_at = float("-inf")

    def verify(self, token: str) -> Caller:
        """The caller that ``token`` names.

        Raises:
            TokenExpired: good once, but no more.
            Unauthorized: forged, foreign, of another algorithm, or not a token.
            Unavailable: the issuer's keys cannot be fetched right now.
        """
        if len(token) > TOKEN_LIMIT:
            raise Unauthorized("the token is too long")
        try:
            key = self._key(str(jwt.get_unverified_header(token).get("kid") or ""))
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                issuer=self._issuer,
                options={"require": ["exp", "iss", "sub"], "verify_aud": False},
            )
        except jwt.ExpiredSignatureError as error:
            raise TokenExpired("the token has expired; get a new one") from error
        except jwt.InvalidTokenError as error:
            raise Unauthorized("the token cannot be trusted") from error
        self._check_audience(claims)
        return caller_from_claims(claims, self.prefix)

    def _check_audience(self, claims: Mapping[str, Any]) -> None:
        given = claims.get("aud", claims.get("client_id"))
        named = set(given) if isinstance(given, list) else {given}
        if named.isdisjoint(self._audience):
            raise Unauthorized("the token is for another application")

    def _key(self, key_id: str) -> PyJWK:
        age = self._monotonic() - self._fetched_at
        if age > KEYS_LIFESPAN_SECONDS or (key_id not in self._keys and age > REFETCH_SECONDS):
            self._refetch()
        if key_id not in self._keys:
            raise Unauthorized("the token is signed with an unknown key")
        return self._keys[key_id]

    def _refetch(self) -> None:
        try:
            self._keys = {key.key_id: key for key in self._fetch() if key.key_id}
        except (PyJWTError, OSError, ValueError) as error:  # no answer, half of one, or not the keys
            if not self._keys:
                raise Unavailable("tokens cannot be checked right now; try again shortly") from error
        self._fetched_at = self._monotonic()


def token_from_subprotocols(header: str | None) -> str:
    """The token in a ``Sec-WebSocket-Protocol`` header of the form ``headrace.v1, <token>``.

    Raises:
        Unauthorized: the header is not of that form.
    """
    offered = [part.strip() for part in (header or "").split(",")]
    if len(offered) != 2 or offered[0] != SUBPROTOCOL or not offered[1]:
        raise Unauthorized(f"Sec-WebSocket-Protocol must be: {SUBPROTOCOL}, <token>")
    return offered[1]


def _fetcher(issuer: str) -> Callable[[], list[PyJWK]]:
    client = PyJWKClient(
        issuer.rstrip("/") + "/.well-known/jwks.json", cache_jwk_set=False, timeout=KEYS_TIMEOUT_SECONDS
    )
    return lambda: client.get_signing_keys(refresh=True)
