"""An issuer's public keys, fetched as AWS does: OpenID discovery, then the key set that it names."""

from __future__ import annotations

from typing import Any

import aiohttp
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWKSet, PyJWTError

FETCH_TIMEOUT = aiohttp.ClientTimeout(total=1.5)


class KeySetError(Exception):
    """The issuer's keys cannot be fetched."""


class KeySet:
    """The RSA keys of one issuer, fetched when an unknown key is asked for."""

    def __init__(self, issuer: str, session: aiohttp.ClientSession) -> None:
        self._issuer = issuer.rstrip("/")
        self._session = session
        self._keys: dict[str, RSAPublicKey] = {}

    async def key(self, kid: str) -> RSAPublicKey | None:
        """Return the key with this id, or ``None`` if the issuer has none.

        Raises:
            KeySetError: the issuer does not answer, or not with a key set.
        """
        if kid not in self._keys:
            discovery = await self._get(f"{self._issuer}/.well-known/openid-configuration")
            self._keys = _rsa_keys(await self._get(str(discovery.get("jwks_uri"))))
        return self._keys.get(kid)

    async def _get(self, url: str) -> dict[str, Any]:
        try:
            async with self._session.get(url, allow_redirects=False, timeout=FETCH_TIMEOUT) as response:
                response.raise_for_status()
                return dict(await response.json(content_type=None))  # any type, as on AWS
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, TypeError):
            raise KeySetError("OIDC discovery endpoint communication error") from None


def _rsa_keys(document: dict[str, Any]) -> dict[str, RSAPublicKey]:
    try:
        keys = PyJWKSet.from_dict(document).keys  # without those that PyJWT cannot use
    except (PyJWTError, AttributeError, TypeError):
        return {}
    return {key.key_id: key.key for key in keys if key.key_id and isinstance(key.key, RSAPublicKey)}
