"""Signs posts to WebSocket connections (Signature Version 4), for less CPU than botocore's signer."""

from __future__ import annotations

import functools
import hmac
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlsplit

from botocore.credentials import Credentials

from headrace.core.times import SECOND, Clock

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "execute-api"


class Signer:
    """Makes the heads of posts to the connections of the API at ``url`` (``https://host/stage``).

    ``credentials`` are boto3's, which renews them before they expire.
    """

    def __init__(self, url: str, region: str, credentials: Credentials, clock: Clock) -> None:
        parts = urlsplit(url.rstrip("/") + "/@connections/")
        self._host = parts.netloc
        self._path = parts.path
        self._region = region
        self._credentials = credentials
        self._clock = clock

    def head(self, connection_id: str, hashed: str, length: int) -> bytes:
        """The request up to its body of ``length`` bytes, whose SHA-256 is ``hashed`` (hexadecimal)."""
        known = self._credentials.get_frozen_credentials()
        stamp = datetime.fromtimestamp(self._clock.now() // SECOND, UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/{self._region}/{SERVICE}/aws4_request"
        headers = {"host": self._host, "x-amz-date": stamp}
        if known.token:
            headers["x-amz-security-token"] = known.token
        names = ";".join(headers)
        lines = "".join([f"{name}:{value}\n" for name, value in headers.items()])
        path = self._path + quote(connection_id, safe="-._~")
        # The signature is over the path as it is sent, URL-encoded once more.
        canonical = f"POST\n{quote(path, safe='/~')}\n\n{lines}\n{names}\n{hashed}"
        to_sign = f"{ALGORITHM}\n{stamp}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(_key(str(known.secret_key), scope), to_sign.encode(), "sha256").hex()
        sent = lines.replace("\n", "\r\n")
        return (
            f"POST {path} HTTP/1.1\r\n{sent}Content-Length: {length}\r\n"
            f"Authorization: {ALGORITHM} Credential={known.access_key}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}\r\n\r\n"
        ).encode()


@functools.lru_cache(maxsize=1)
def _key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
