"""Signs calls of @connections (Signature Version 4), for less CPU than botocore's signer.

Calls of one second differ only in the connection and the body, so everything else is computed once per second. The
tests compare the signatures with botocore's.
"""

from __future__ import annotations

import functools
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlsplit

from headrace.core.times import SECOND, Clock

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "execute-api"


@dataclass(frozen=True, slots=True)
class _Second:
    """The values that all signatures of one second share."""

    key: bytes
    scope: str
    prefix: str
    headers: str
    lines: str
    names: str


class Signer:
    """Makes the heads of POST requests to the connections of the API at ``url`` (``https://host/stage``).

    ``credentials`` returns botocore's frozen credentials. It is called once per second, because they are renewed.
    """

    def __init__(self, url: str, region: str, credentials: Callable[[], Any], clock: Clock) -> None:
        parts = urlsplit(url)
        self._host = parts.netloc
        self._path = parts.path.rstrip("/") + "/@connections/"
        # The signature is over the path as it is sent, URL-encoded once more.
        self._signed_path = quote(self._path, safe="/~")
        self._region = region
        self._credentials = credentials
        self._clock = clock
        self._prepare = functools.lru_cache(maxsize=1)(self._prepared)

    def head(self, connection_id: str, hashed: str, length: int) -> bytes:
        """The request up to its body of ``length`` bytes, whose SHA-256 is ``hashed`` (hexadecimal)."""
        now = self._prepare(self._clock.now() // SECOND)
        sent = quote(connection_id, safe="-._~")
        signed = quote(sent, safe="/~")
        canonical = f"POST\n{self._signed_path}{signed}\n\n{now.lines}\n{now.names}\n{hashed}"
        to_sign = f"{now.prefix}{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.new(now.key, to_sign.encode(), sha256).hexdigest()
        return (
            f"POST {self._path}{sent} HTTP/1.1\r\n{now.headers}Content-Length: {length}\r\n"
            f"Authorization: {now.scope}, Signature={signature}\r\n\r\n"
        ).encode()

    def _prepared(self, at: int) -> _Second:
        known = self._credentials()
        stamp = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/{self._region}/{SERVICE}/aws4_request"
        headers = {"host": self._host, "x-amz-date": stamp}
        if known.token:
            headers["x-amz-security-token"] = known.token
        names = ";".join(headers)
        return _Second(
            key=_key(known.secret_key, stamp[:8], self._region),
            scope=f"{ALGORITHM} Credential={known.access_key}/{scope}, SignedHeaders={names}",
            prefix=f"{ALGORITHM}\n{stamp}\n{scope}\n",
            headers="".join(f"{name}: {value}\r\n" for name, value in headers.items()),
            lines="".join(f"{name}:{value}\n" for name, value in headers.items()),
            names=names,
        )


def _key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, SERVICE, "aws4_request"):
        key = hmac.new(key, part.encode(), sha256).digest()
    return key
