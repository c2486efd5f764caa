"""The issuer's RSA key: created once, stored in a file that only its owner can read."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from localstage.core.atomic_write import write_atomically
from localstage.core.errors import ServiceError


class IssuerKey:
    """An RSA key in a PEM file; the file is made, with mode 0600, when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def private(self) -> rsa.RSAPrivateKey:
        """The private key, read or made.

        Raises:
            ServiceError: the file is not a readable RSA key.
        """
        try:
            return self._parse(self._path.read_bytes())
        except FileNotFoundError:
            return self._parse(self._make())
        except OSError as error:
            raise ServiceError(f"The token issuer's key {self._path} cannot be read: {error.strerror}.") from None

    @property
    def id(self) -> str:
        """The key's ``kid``: a hash of its public half."""
        der = self.private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return base64.urlsafe_b64encode(hashlib.sha256(der).digest()).decode().rstrip("=")

    @property
    def public_jwk(self) -> dict[str, Any]:
        """The public half as a JSON Web Key."""
        key = RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        return {"kty": key["kty"], "n": key["n"], "e": key["e"], "alg": "RS256", "use": "sig", "kid": self.id}

    @property
    def token_secret(self) -> str:
        """What a request for a token has to name."""
        return self.derived("token_url").hex()

    def derived(self, purpose: str) -> bytes:
        """A secret of 32 bytes for one purpose; made from the private key, so it is the same at the next start."""
        der = self.private.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return hmac.digest(der, purpose.encode(), hashlib.sha256)

    def _parse(self, pem: bytes) -> rsa.RSAPrivateKey:
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, rsa.RSAPrivateKey):
            raise ServiceError(f"{self._path} is not an RSA key; remove it, and the stage creates a new one.")
        return key

    def _make(self) -> bytes:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        write_atomically(self._path, pem.decode())
        return pem
