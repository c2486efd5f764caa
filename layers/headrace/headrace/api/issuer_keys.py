"""Fetches the public keys of a token issuer, as API Gateway's JWT authorizer does: discovery, then the key set.

The discovery document is ``<issuer>/.well-known/openid-configuration`` (OpenID Connect Discovery 1.0, section 4). An
issuer without one has its keys at ``<issuer>/.well-known/jwks.json``.
"""

from __future__ import annotations

import json
import time
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from jwt import PyJWK, PyJWKSet, PyJWTError

from headrace.core.errors import echo
from headrace.core.urls import is_https_or_loopback

FETCH_SECONDS = 1.5
"""The longest time for one of the two documents, and for each read of it."""
FETCH_BYTES = 150_000
"""The limit of API Gateway's JWT authorizer for either document."""
_CHUNK = 16 * 1024


class IssuerError(Exception):
    """The issuer's keys cannot be fetched: the issuer is unavailable, or its documents are not as they must be."""


class _NoDocument(IssuerError):
    """The issuer answered that there is no such document (400 to 499)."""


def signing_keys(issuer: str) -> list[PyJWK]:
    """The keys that ``issuer`` signs with; each has a key id.

    Raises:
        IssuerError: with the URL, what came and what is allowed.
    """
    base = issuer.rstrip("/")
    try:
        url = _key_set_url(issuer, _get(f"{base}/.well-known/openid-configuration"))
    except _NoDocument:
        url = f"{base}/.well-known/jwks.json"
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
    try:
        content = json.loads(_read(url))
    except HTTPError as error:
        error.close()
        failure = _NoDocument if 400 <= error.code < 500 else IssuerError
        raise failure(f"{url} answered with {error.code}") from None
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        raise IssuerError(f"{url} gave no JSON document ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise IssuerError(f"{url} gave JSON that is not an object")
    return content


def _read(url: str) -> bytes:
    deadline = time.monotonic() + FETCH_SECONDS
    body = b""
    request = Request(url, headers={"accept": "application/json"})  # noqa: S310 - https or loopback
    with _opener.open(request, timeout=FETCH_SECONDS) as response:
        while part := response.read1(_CHUNK):
            body += part
            if len(body) > FETCH_BYTES:
                raise IssuerError(f"{url} is larger than {FETCH_BYTES} bytes")
            if time.monotonic() > deadline:
                raise IssuerError(f"{url} took longer than {FETCH_SECONDS} s")
    return body
