"""Signs requests to AWS (Signature Version 4), for a fraction of the CPU of botocore's signer."""

from __future__ import annotations

import functools
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from types import MappingProxyType
from urllib.parse import quote, urlsplit

from botocore.credentials import Credentials

from headrace.core.times import SECOND, Clock

ALGORITHM = "AWS4-HMAC-SHA256"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Signer:
    """Makes the heads of posts to a ``service`` of AWS, to addresses that begin with ``url``.

    ``credentials`` are boto3's, which renews them before they expire.
    """

    def __init__(self, service: str, url: str, region: str, credentials: Credentials, clock: Clock) -> None:
        parts = urlsplit(url)
        self._host = parts.netloc
        self._path = parts.path or "/"
        self._scope = f"{region}/{service}/aws4_request"
        self._credentials = credentials
        self._clock = clock

    def head(self, path: str, hashed: str, length: int, more: Mapping[str, str] = NO_HEADERS) -> bytes:
        """The request up to its body of ``length`` bytes, whose SHA-256 is ``hashed`` (hexadecimal).

        ``path`` is URL-encoded, and follows the path of the signer's address. ``more`` are further headers, with
        lower-case names.
        """
        path = self._path + path
        known = self._credentials.get_frozen_credentials()
        stamp = datetime.fromtimestamp(self._clock.now() // SECOND, UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/{self._scope}"
        headers = {"host": self._host, "x-amz-date": stamp, **more}
        if known.token:
            headers["x-amz-security-token"] = known.token
        ordered = sorted(headers.items())
        names = ";".join([name for name, _ in ordered])
        lines = "".join([f"{name}:{value}\n" for name, value in ordered])
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


@functools.lru_cache(maxsize=2)
def _key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
