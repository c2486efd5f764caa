"""Tokens that no route may accept, made from the stage's own key; the names are those of ``INVALID``."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.e2e.conftest import RunningStage
from tools.api_reference.access import SCOPES

YEAR = 365 * 24 * 3600


class Forger:
    """Makes invalid tokens from a valid one of alice with all scopes, and signs them with the issuer's key."""

    def __init__(self, stage: RunningStage) -> None:
        self.valid = stage.token("alice", *SCOPES)
        self._claims = jwt.decode(self.valid, options={"verify_signature": False})
        self._key_id = jwt.get_unverified_header(self.valid)["kid"]
        self._key = serialization.load_pem_private_key((stage.state_dir / "issuer.pem").read_bytes(), None)
        self._public = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def signed(self, **changes: Any) -> str:
        """A token with changed claims and a correct signature."""
        return jwt.encode({**self._claims, **changes}, self._key, algorithm="RS256", headers={"kid": self._key_id})

    def token(self, kind: str) -> str:
        """The token of one kind of ``INVALID``; "" for none."""
        now = int(time.time())
        kinds: dict[str, Callable[[], str]] = {
            "none": lambda: "",
            "text": lambda: "garbage",
            "expired": lambda: self.signed(exp=now - 1, iat=now - 3600),
            "early": lambda: self.signed(nbf=now + YEAR),
            "issuer": lambda: self.signed(iss=f"{self._claims['iss']}2"),
            "audience": lambda: self.signed(aud="another", client_id="another"),
            "subject": lambda: self.signed(sub="\u212aelly"),
            "unsigned": lambda: jwt.encode(self._claims, None, algorithm="none", headers={"kid": self._key_id}),
            "symmetric": self._symmetric,
            "key": lambda: jwt.encode(
                self._claims, rsa.generate_private_key(65537, 2048), algorithm="RS256", headers={"kid": "unknown"}
            ),
            "claims": self._changed,
        }
        return kinds[kind]()

    def _symmetric(self) -> str:
        # PyJWT itself refuses a public key as a secret.
        head = _encoded({"alg": "HS256", "typ": "JWT", "kid": self._key_id})
        signed = f"{head}.{_encoded(self._claims)}"
        return f"{signed}.{_base64(hmac.digest(self._public, signed.encode(), hashlib.sha256))}"

    def _changed(self) -> str:
        head, _, signature = self.valid.split(".")
        return f"{head}.{_encoded({**self._claims, 'sub': 'mallory'})}.{signature}"


def _encoded(value: Any) -> str:
    return _base64(json.dumps(value).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
