"""The authorizer of WebSocket connections: verifies the token on ``$connect`` and answers with an IAM policy.

API Gateway has no JWT authorizer for WebSocket APIs, so tokens are verified here by the rules of its HTTP APIs
(developer guide, "Control access to HTTP APIs with JWT authorizers"). Only RSA signatures are accepted. ``iss``,
``exp``, ``nbf``, ``iat``, and ``aud`` (or ``client_id`` if there is no ``aud``) are checked.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

import jwt
from jwt import PyJWK

from headrace.api.auth import SUBPROTOCOL, caller_from_claims
from headrace.api.issuer_keys import IssuerError, signing_keys
from headrace.core.caller import CHAT_READ, CHAT_WRITE, EVENTS_WRITE, Caller
from headrace.core.errors import TokenExpired, Unauthorized, Unavailable
from headrace.runtime.observability import Meter, correlate, report

CONNECT_SCOPES = frozenset({CHAT_READ, CHAT_WRITE, EVENTS_WRITE})
ALGORITHMS = ("RS256", "RS384", "RS512")
TOKEN_LIMIT = 8192
KEYS_LIFESPAN_SECONDS = 7200
REFETCH_SECONDS = 10.0
"""An unknown key id causes a new fetch of the keys, at most once in this time: anyone can send an unknown id."""


def decide(event: Mapping[str, Any], verifier: TokenVerifier) -> dict[str, Any]:
    """The answer of a REQUEST authorizer: allow a caller with any of ``CONNECT_SCOPES``, deny one without.

    API Gateway passes the answer's context with every event of the connection. Scopes in it keep their prefix, so that
    both protocols read them alike.

    Raises:
        Exception: with the text ``Unauthorized``, which API Gateway answers with 401. Lambda counts it as an error; the
            metric ``ConnectRefused`` lets the alarm leave it out.
        headrace.core.errors.Unavailable: the issuer's keys cannot be fetched; API Gateway answers with 500.
    """
    correlate(event)
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    try:
        caller = verifier.verify(token_from_subprotocols(headers.get("sec-websocket-protocol")))
    except (Unauthorized, TokenExpired) as error:
        report(f"connect {type(error).__name__}", error.message, level="info")
        meter = Meter()
        meter.count("ConnectRefused")
        meter.flush()
        raise Exception("Unauthorized") from None
    effect = "Deny" if CONNECT_SCOPES.isdisjoint(caller.scopes) else "Allow"
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": str(event["methodArn"])}
    return {
        "principalId": caller.subject,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": {
            "sub": caller.subject,
            "username": caller.username,
            "scope": " ".join(verifier.prefix + scope for scope in sorted(caller.scopes)),
            "exp": str(caller.expires_at),
        },
    }


class TokenVerifier:
    """Verifies the tokens of one issuer for one of ``audience``; scopes that begin with ``prefix`` are the caller's.

    ``fetch`` returns the issuer's signing keys, or raises IssuerError. Keys are fetched on first use and kept for two
    hours.
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
        self._fetch = fetch or functools.partial(signing_keys, issuer)
        self._monotonic = monotonic
        self._keys: dict[str, PyJWK] = {}
        self._fetched_at = float("-inf")

    def verify(self, token: str) -> Caller:
        """The caller that ``token`` names.

        Raises:
            TokenExpired: the token has expired.
            Unauthorized: forged, for another application, of another algorithm, or not a token.
            Unavailable: the issuer's keys cannot be fetched now.
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
        named = given if isinstance(given, list) else [given]
        if not any(name in self._audience for name in named):
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
        except IssuerError as error:
            report("issuer", f"the issuer's keys cannot be fetched: {error}", level="error")
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
