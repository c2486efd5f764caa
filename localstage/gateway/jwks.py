"""An issuer's public keys, fetched as AWS does: OpenID discovery, then the key set that it names."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.request import ProxyHandler, build_opener

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWKClient, PyJWTError

FETCH_SECONDS = 1.5


class KeySetError(Exception):
    """The issuer's keys cannot be fetched."""


class _Client(PyJWKClient):
    def fetch_data(self) -> Any:
        return _get(self.uri)


def _get(url: str) -> dict[str, Any]:
    # Without the proxy of the environment, which PyJWT would ask also for an issuer on loopback.
    with build_opener(ProxyHandler({})).open(url, timeout=FETCH_SECONDS) as answer:
        return dict(json.load(answer))


class KeySet:
    """The RSA keys of one issuer, which PyJWT fetches again when an unknown key is asked for."""

    def __init__(self, issuer: str) -> None:
        self._discovery = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        self._client: PyJWKClient | None = None

    async def key(self, kid: str) -> RSAPublicKey | None:
        """Return the key with this id, or ``None`` if the issuer has none.

        Raises:
            KeySetError: the issuer does not answer, or not with a key set.
        """
        return await asyncio.to_thread(self._key, kid)

    def _key(self, kid: str) -> RSAPublicKey | None:
        try:
            if self._client is None:
                self._client = _Client(str(_get(self._discovery)["jwks_uri"]))
            key = self._client.get_signing_key(kid).key
        except (OSError, ValueError, TypeError, KeyError):
            raise KeySetError("OIDC discovery endpoint communication error") from None
        except PyJWTError:
            return None
        return key if isinstance(key, RSAPublicKey) else None
