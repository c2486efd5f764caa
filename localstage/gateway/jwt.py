"""The HTTP API's JWT authorizer, as strict as on AWS.

RSA signatures only; ``kid`` must be in the issuer's key set; ``iss``, ``aud`` (or ``client_id`` where there is no
``aud``), ``exp``, ``nbf`` and ``iat`` are checked, with no leeway. As on AWS, ID tokens and
access tokens are treated alike; scopes separate them.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jwt

from localstage.core.model import JwtAuthorizer
from localstage.gateway.jwks import KeySet, KeySetError

ALGORITHMS = ("RS256", "RS384", "RS512")
MAX_CACHED = 4096


class Unauthorized(Exception):
    """The token is not accepted; the message goes into ``www-authenticate``, never the token."""


@dataclass(frozen=True)
class VerifiedToken:
    """A token whose signature and claims are valid.

    ``claims_json`` is the claims as a Lambda function sees them (every value a string), already encoded.
    """

    expires: float
    scopes: frozenset[str]
    claims_json: str

    def granted(self, wanted: Iterable[str]) -> list[str]:
        """Return those of a route's scopes that the token has; one is enough for AWS."""
        return [scope for scope in wanted if scope in self.scopes]


class JwtVerifier:
    """Verifies tokens for one authorizer and remembers good ones, by hash, until they expire."""

    def __init__(self, authorizer: JwtAuthorizer, keys: KeySet) -> None:
        self._issuer = authorizer.issuer
        self._audience = frozenset(authorizer.audience)
        self._keys = keys
        self._verified: dict[bytes, VerifiedToken] = {}

    async def verify(self, token: str) -> VerifiedToken:
        """Return the token's claims and scopes.

        Raises:
            Unauthorized: any of the checks failed, or the issuer's keys cannot be fetched.
        """
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        known = self._verified.pop(digest, None)
        if known is None or known.expires <= time.time():
            claims = await self._decode(token)
            self._check_audience(claims)
            known = VerifiedToken(float(claims["exp"]), _scopes(claims), _claims_json(claims))
            if len(self._verified) >= MAX_CACHED:
                del self._verified[next(iter(self._verified))]
        self._verified[digest] = known
        return known

    async def _decode(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.InvalidTokenError, ValueError):
            raise Unauthorized("the token is malformed") from None
        if header.get("alg") not in ALGORITHMS:
            raise Unauthorized("unsupported signing algorithm")
        try:
            key = await self._keys.key(str(header.get("kid", "")))
        except KeySetError as error:
            raise Unauthorized(str(error)) from None
        if key is None:
            raise Unauthorized("unknown kid")
        options: Any = {"require": ["exp", "iss"], "verify_aud": False, "verify_sub": False, "verify_jti": False}
        try:
            return jwt.decode(token, key, algorithms=ALGORITHMS, issuer=self._issuer, options=options)
        except jwt.ExpiredSignatureError:
            raise Unauthorized("the token has expired") from None
        except jwt.ImmatureSignatureError:
            raise Unauthorized("the token is not valid yet") from None
        except jwt.InvalidIssuerError:
            raise Unauthorized("the token has an invalid issuer") from None
        except jwt.InvalidTokenError:
            raise Unauthorized("the token is not valid") from None

    def _check_audience(self, claims: dict[str, Any]) -> None:
        audience = claims["aud"] if "aud" in claims else claims.get("client_id")
        named = audience if isinstance(audience, list) else [audience]
        if not any(isinstance(name, str) and name in self._audience for name in named):
            raise Unauthorized("the token does not have a valid audience")


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    scope = claims.get("scope")
    return frozenset(scope.split() if isinstance(scope, str) else ())


def _claims_json(claims: dict[str, Any]) -> str:
    return json.dumps({name: _claim_text(value) for name, value in claims.items() if value is not None})


def _claim_text(value: Any) -> str:
    """Return a claim as AWS passes it on: lists as ``[a b]``, objects as JSON, the rest as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{' '.join(_claim_text(item) for item in value)}]"
    return json.dumps(value, separators=(",", ":"))
