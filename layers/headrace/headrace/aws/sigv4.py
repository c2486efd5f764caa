"""Signs POST requests to AWS services (Signature Version 4), for less CPU than botocore's signer.

Requests of one second differ only in the end of the path, the operation and the body, so everything else is computed
once per second. The tests compare the signatures with botocore's.
"""

from __future__ import annotations

import functools
import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlsplit

from headrace.core.times import SECOND, Clock

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class AccessKey:
    """Credentials of AWS; ``repr`` omits the secret parts. ``token`` is empty for a user's key, which has none."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str = field(default="", repr=False)


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
    """Makes the heads of POST requests to ``service`` at paths that begin with that of ``url``.

    ``content_type`` is that of all requests, if they have one.
    """

    def __init__(
        self, service: str, url: str, region: str, access_key: AccessKey, clock: Clock, content_type: str = ""
    ) -> None:
        parts = urlsplit(url)
        self._service = service
        self._host = parts.netloc
        self._path = parts.path or "/"
        # The signature is over the path as it is sent, URL-encoded once more.
        self._signed_path = quote(self._path, safe="/~")
        self._region = region
        self._access_key = access_key
        self._clock = clock
        self._content_type = content_type
        self._prepare = functools.lru_cache(maxsize=1)(self._prepared)

    def head(self, end: str, hashed: str, length: int, target: str = "", unsigned: str = "") -> bytes:
        """The request up to its body of ``length`` bytes, whose SHA-256 is ``hashed`` (hexadecimal).

        ``end``, the end of the path, is URL-encoded. ``target`` is the header X-Amz-Target, if the request has one.
        ``unsigned`` are further lines of headers.
        """
        now = self._prepare(self._clock.now() // SECOND)
        lines, names, headers = now.lines, now.names, now.headers
        if target:
            lines = f"{lines}x-amz-target:{target}\n"
            names = f"{names};x-amz-target"
            headers = f"{headers}x-amz-target: {target}\r\n"
        canonical = f"POST\n{self._signed_path}{quote(end, safe='/~')}\n\n{lines}\n{names}\n{hashed}"
        to_sign = f"{now.prefix}{sha256(canonical.encode()).hexdigest()}"
        signature = hmac.new(now.key, to_sign.encode(), sha256).hexdigest()
        return (
            f"POST {self._path}{end} HTTP/1.1\r\n{headers}{unsigned}Content-Length: {length}\r\n"
            f"Authorization: {now.scope}, SignedHeaders={names}, Signature={signature}\r\n\r\n"
        ).encode()

    def _prepared(self, at: int) -> _Second:
        known = self._access_key
        stamp = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/{self._region}/{self._service}/aws4_request"
        headers = {"content-type": self._content_type} if self._content_type else {}
        headers |= {"host": self._host, "x-amz-date": stamp}
        if known.token:
            headers["x-amz-security-token"] = known.token
        return _Second(
            key=self._key(known.secret_key, stamp[:8]),
            scope=f"{ALGORITHM} Credential={known.access_key}/{scope}",
            prefix=f"{ALGORITHM}\n{stamp}\n{scope}\n",
            headers="".join(f"{name}: {value}\r\n" for name, value in headers.items()),
            lines="".join(f"{name}:{value}\n" for name, value in headers.items()),
            names=";".join(headers),
        )

    def _key(self, secret: str, day: str) -> bytes:
        key = f"AWS4{secret}".encode()
        for part in (day, self._region, self._service, "aws4_request"):
            key = hmac.new(key, part.encode(), sha256).digest()
        return key
