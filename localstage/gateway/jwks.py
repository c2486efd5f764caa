"""An issuer's public keys, fetched as AWS does: OpenID discovery, then the key set that it names."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import aiohttp
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWKSet, PyJWTError

FETCH_TIMEOUT = 1.5
MAX_BYTES = 150_000
FRESH_FOR = 2 * 3600.0
ASK_AGAIN = 5.0
"""Seconds between two fetches for an unknown key id, or after a failure: a bad token must not cost a fetch each."""


class KeySetError(Exception):
    """The issuer's keys cannot be fetched."""


class KeySet:
    """The RSA keys of one issuer, fetched when needed and kept for two hours."""

    def __init__(self, issuer: str, session: aiohttp.ClientSession) -> None:
        self._issuer = issuer.rstrip("/")
        self._session = session
        self._keys: dict[str, RSAPublicKey] = {}
        self._fetched = -FRESH_FOR
        self._tried = -ASK_AGAIN
        self._lock = asyncio.Lock()

    async def key(self, kid: str) -> RSAPublicKey | None:
        """Return the key with this id, or ``None`` if the issuer has none.

        Raises:
            KeySetError: the issuer does not answer, or not with a key set.
        """
        now = time.monotonic()
        if kid in self._keys and now - self._fetched < FRESH_FOR:
            return self._keys[kid]
        async with self._lock:
            now = time.monotonic()
            if kid not in self._keys or now - self._fetched >= FRESH_FOR:
                await self._refresh(now)
        return self._keys.get(kid)

    async def _refresh(self, now: float) -> None:
        if now - self._tried < ASK_AGAIN:
            if now - self._fetched >= FRESH_FOR:
                raise KeySetError("OIDC discovery endpoint communication error")
            return
        self._tried = now
        discovery = await self._get(f"{self._issuer}/.well-known/openid-configuration")
        jwks_uri = discovery.get("jwks_uri")
        if not isinstance(jwks_uri, str):
            raise KeySetError("the issuer names no key set")
        self._keys = _rsa_keys(await self._get(jwks_uri))
        self._fetched = time.monotonic()

    async def _get(self, url: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(FETCH_TIMEOUT), self._session.get(url, allow_redirects=False) as response:
                body = await _read_bounded(response)
                status = response.status
            value = json.loads(body) if status == 200 else None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            value = None
        if not isinstance(value, dict):
            raise KeySetError("OIDC discovery endpoint communication error")
        return value


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    body = b""
    async for chunk in response.content.iter_chunked(16 * 1024):
        body += chunk
        if len(body) > MAX_BYTES:
            raise ValueError("key set too large")
    return body


def _rsa_keys(document: dict[str, Any]) -> dict[str, RSAPublicKey]:
    try:
        keys = PyJWKSet.from_dict(document).keys  # without those that PyJWT cannot use
    except (PyJWTError, AttributeError, TypeError):
        return {}
    return {key.key_id: key.key for key in keys if key.key_id and isinstance(key.key, RSAPublicKey)}
