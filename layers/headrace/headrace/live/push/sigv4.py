"""Signs posts to WebSocket connections (Signature Version 4), for less CPU than botocore's signer.

Posts of one second differ only in the connection and the body, so everything else is computed once per second. The
tests compare the signatures with botocore's.
"""

from __future__ import annotations

import functools
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlsplit

from botocore.credentials import Credentials

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
    """Makes the heads of posts to the connections of the API at ``url`` (``https://host/stage``).

    ``credentials`` are boto3's, which renews them before they expire.
    """

    def __init__(self, url: str, region: str, credentials: Credentials, clock: Clock) -> None:
        parts = urlsplit(url.rstrip("/") + "/@connections/")
        self._host = parts.netloc
        self._path = parts.path
        # The signature is over the path as it is sent, URL-encoded once more.
        self._signed_path = quote(self._path, safe="/~")
        self._region = region
        self._credentials = credentials
        self._clock = clock
        self._prepare = functools.lru_cache(maxsize=1)(self._prepared)

    def head(self, connection_id: str, hashed: str, length: int) -> bytes:
        """The request up to its body of ``length`` bytes, whose SHA-256 is ``hashed`` (hexadecimal)."""
        end = quote(connection_id, safe="-._~")
        now = self._prepare(self._clock.now() // SECOND)
        canonical = f"POST\n{self._signed_path}{quote(end, safe='/~')}\n\n{now.lines}\n{now.names}\n{hashed}"
        to_sign = f"{now.prefix}{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.new(now.key, to_sign.encode(), sha256).hexdigest()
        return (
            f"POST {self._path}{end} HTTP/1.1\r\n{now.headers}Content-Length: {length}\r\n"
            f"Authorization: {now.scope}, SignedHeaders={now.names}, Signature={signature}\r\n\r\n"
        ).encode()

    def _prepared(self, at: int) -> _Second:
        known = self._credentials.get_frozen_credentials()
        stamp = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/{self._region}/{SERVICE}/aws4_request"
        headers = {"host": self._host, "x-amz-date": stamp}
        if known.token:
            headers["x-amz-security-token"] = known.token
        return _Second(
            key=self._key(str(known.secret_key), stamp[:8]),
            scope=f"{ALGORITHM} Credential={known.access_key}/{scope}",
            prefix=f"{ALGORITHM}\n{stamp}\n{scope}\n",
            headers="".join(f"{name}: {value}\r\n" for name, value in headers.items()),
            lines="".join(f"{name}:{value}\n" for name, value in headers.items()),
            names=";".join(headers),
        )

    def _key(self, secret: str, day: str) -> bytes:
        key = f"AWS4{secret}".encode()
        for part in (day, self._region, SERVICE, "aws4_request"):
            key = hmac.new(key, part.encode(), sha256).digest()
        return key
