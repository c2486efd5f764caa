"""The authorizer of WebSocket connections: verifies the token on ``$connect`` and answers with an IAM policy.

API Gateway has no JWT authorizer for WebSocket APIs, so tokens are verified here by the rules of its HTTP APIs
(developer guide, "Control access to HTTP APIs with JWT authorizers"). Only RSA signatures are accepted. ``iss``,
``exp``, ``nbf``, ``iat``, and ``aud`` (or ``client_id`` if there is no ``aud``) are checked.

A page in a browser cannot see the status of a refused handshake, and API Gateway cannot close a connection with a code
of ours. So a page may offer subprotocols that name refusals. The connection then opens with the one that says why, and
every frame on it is refused.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, build_opener

import jwt
from jwt import PyJWK, PyJWKSet, PyJWTError

from headrace.api.claims import CONNECT_SCOPES, SUBPROTOCOL, caller_from_claims, refused_context
from headrace.api.error_bodies import mapping_of
from headrace.core.caller import Caller
from headrace.core.errors import Forbidden, TokenExpired, Unauthorized, Unavailable, UserError, echo
from headrace.core.urls import is_https_or_loopback
from headrace.runtime.observability import Meter, correlate, report, report_unexpected

FETCH_SECONDS = 1.5
"""The longest time for one of the two documents, and for each read of it."""
FETCH_BYTES = 150_000
"""The limit of API Gateway's JWT authorizer for either document."""
_CHUNK = 16 * 1024


class IssuerError(Exception):
    """The issuer's keys cannot be fetched: the issuer is unavailable, or its documents are not as they must be."""


def signing_keys(issuer: str) -> list[PyJWK]:
    """The keys that ``issuer`` signs with; each has a key id.

    Raises:
        IssuerError: with the URL, what came and what is allowed.
    """
    url = _key_set_url(issuer, _get(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
    entries = _get(url).get("keys")
    try:
        # PyJWKSet leaves out keys that it cannot use, such as those of other algorithms.
        found = PyJWKSet([entry for entry in entries or [] if isinstance(entry, dict)]).keys
    except (PyJWTError, TypeError) as error:
        raise IssuerError(f"{url} has no usable keys ({type(error).__name__})") from None
    keys = [key for key in found if key.key_id and key.public_key_use in ("sig", None)]
    if not keys:
        raise IssuerError(f"{url} has no keys for signatures with a kid")
    return keys


def _key_set_url(issuer: str, discovery: dict[str, Any]) -> str:
    if discovery.get("issuer") != issuer:
        raise IssuerError(f"the discovery document is of {echo(discovery.get('issuer'))}; it must be of {issuer}")
    url = discovery.get("jwks_uri")
    if not isinstance(url, str):
        raise IssuerError(f"jwks_uri in the discovery document of {issuer} is {echo(url)}; it must be a URL")
    return url


class _NoRedirects(HTTPRedirectHandler):
    """A redirect is an error: it could lead anywhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = build_opener(_NoRedirects())


def _get(url: str) -> dict[str, Any]:
    if not is_https_or_loopback(url):
        raise IssuerError(f"{echo(url)} is not allowed; it must be https, or http on this machine")
    deadline = time.monotonic() + FETCH_SECONDS
    try:
        with _opener.open(url, timeout=FETCH_SECONDS) as response:
            content = json.loads(_read(url, response, deadline))
    except HTTPError as error:
        error.close()
        raise IssuerError(f"{url} answered with {error.code}") from None
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        raise IssuerError(f"{url} gave no JSON document ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise IssuerError(f"{url} gave JSON that is not an object")
    return content


def _read(url: str, response: Any, deadline: float) -> bytes:
    body = b""
    while part := response.read1(_CHUNK):
        body += part
        if len(body) > FETCH_BYTES:
            raise IssuerError(f"{url} is larger than {FETCH_BYTES} bytes")
        if time.monotonic() > deadline:
            raise IssuerError(f"{url} took longer than {FETCH_SECONDS} s")
    return body


def refusal_subprotocol(error: UserError) -> str:
    """The subprotocol of a connection that opens only to say why it is refused, such as ``headrace.token_expired``."""
    return f"headrace.{mapping_of(error).code}"


REFUSALS = frozenset(map(refusal_subprotocol, (TokenExpired(), Forbidden())))
"""The subprotocols of refusals. Only the issuer's own users get a connection in this way: with other tokens, and
without one, no function behind a frame can be called."""
ALGORITHMS = ("RS256", "RS384", "RS512")
TOKEN_LIMIT = 8192
LEEWAY_SECONDS = 5
"""How far the issuer's clock may be ahead: ``iat`` and ``nbf`` of a new token can be later than the clock here."""
KEYS_LIFESPAN_SECONDS = 7200
REFETCH_SECONDS = 10.0
"""An unknown key id causes a new fetch of the keys, at most once in this time: anyone can send an unknown id."""


def decide(event: Mapping[str, Any], verifier: TokenVerifier) -> dict[str, Any]:
    """The answer of a REQUEST authorizer: allow a caller with any of ``CONNECT_SCOPES``, deny one without.

    API Gateway passes the answer's context with every event of the connection. Scopes in it keep their prefix, so that
    both protocols read them alike. If the client offers the subprotocol of a refusal, the connection opens, and the
    context has that subprotocol in place of the caller.

    Raises:
        Exception: with the text ``Unauthorized``, which API Gateway answers with 401. Lambda counts it among the
            function's errors, so the metric ``ConnectRefused`` says how many of these are refusals.
        headrace.core.errors.Unavailable: the issuer's keys cannot be fetched; API Gateway answers with 500.
    """
    correlate(event)
    headers = event.get("multiValueHeaders") or {}  # several lines of a header are one list
    lines = [each for name, values in headers.items() if name.lower() == "sec-websocket-protocol" for each in values]
    offered = [part.strip() for part in ",".join(lines).split(",")]
    try:
        caller = verifier.verify(token_from_subprotocols(offered))
        if CONNECT_SCOPES.isdisjoint(caller.scopes):
            raise Forbidden(f"the token needs one of the scopes {', '.join(sorted(CONNECT_SCOPES))}")
    except (Unauthorized, TokenExpired, Forbidden) as error:
        return _refused(error, offered, event)
    except Exception as error:
        report_unexpected(error)
        raise
    context = {
        "sub": caller.subject,
        "username": caller.username,
        "scope": " ".join(verifier.prefix + scope for scope in sorted(caller.scopes)),
        "exp": str(caller.expires_at),
    }
    return _policy(event, "Allow", caller.subject, context)


def _refused(error: UserError, offered: Sequence[str], event: Mapping[str, Any]) -> dict[str, Any]:
    report(f"connect {type(error).__name__}", error.message, level="info")
    meter = Meter()
    meter.count("ConnectRefused")
    meter.flush()
    if (subprotocol := refusal_subprotocol(error)) in offered and subprotocol in REFUSALS:
        return _policy(event, "Allow", "refused", refused_context(subprotocol))
    if isinstance(error, Forbidden):
        return _policy(event, "Deny", "refused", {})
    raise Exception("Unauthorized") from None


def _policy(event: Mapping[str, Any], effect: str, principal: str, context: dict[str, str]) -> dict[str, Any]:
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": str(event["methodArn"])}
    return {
        "principalId": principal,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": context,
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
                leeway=LEEWAY_SECONDS,
            )
            if int(claims["exp"]) <= time.time():  # the leeway is for iat and nbf
                raise jwt.ExpiredSignatureError
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


def token_from_subprotocols(offered: Sequence[str]) -> str:
    """The token in subprotocols of the form ``headrace.v1``, token; subprotocols of ``REFUSALS`` may follow.

    Raises:
        Unauthorized: they are not of that form.
    """
    if len(offered) < 2 or offered[0] != SUBPROTOCOL or not offered[1] or not REFUSALS.issuperset(offered[2:]):
        raise Unauthorized(f"Sec-WebSocket-Protocol must be: {SUBPROTOCOL}, <token>")
    return offered[1]
