"""Pushes over API Gateway's @connections, for a fraction of the CPU of boto3's call (``make bench BENCH=live``)."""

from __future__ import annotations

import functools
import hmac
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlsplit

from botocore.credentials import Credentials

from headrace.core.times import SECOND, Clock
from headrace.live.push.connection_pool import ConnectionPool
from headrace.live.push_service import Push, PushResult
from headrace.runtime.observability import report_refusal

TRIES = 4
FIRST_PAUSE = 0.05
"""Seconds, doubled with every try: 4 tries take at most about half a second."""
GONE = 410
AGAIN = frozenset({429, 500, 502, 503, 504})


class ApiGatewayPusher:
    """A :class:`~headrace.live.push_service.ConnectionPusher` on API Gateway. Not thread-safe."""

    def __init__(self, signer: Signer, connections: ConnectionPool) -> None:
        self._signer = signer
        self._connections = connections

    def deliver(self, sends: Sequence[Push], seconds: float) -> list[PushResult]:
        # Most frames go to many connections, so each is hashed once.
        hashes = {id(frame): sha256(frame).hexdigest() for send in sends for frame in send.frames}
        deliveries = [_Delivery(send, self._signer, hashes) for send in sends]
        self._connections.run([each for each in deliveries if each.left], seconds)
        for status in {each.status for each in deliveries if each.result == "refused"}:
            report_refusal("post_to_connection", f"HTTP {status}")
        return [each.result for each in deliveries]


class _Delivery:
    """The frames of one push, as an :class:`~headrace.live.push.connection_pool.HttpExchange`."""

    def __init__(self, send: Push, signer: Signer, hashes: dict[int, str]) -> None:
        self._send = send
        self._signer = signer
        self._hashes = hashes
        self._at = 0
        self._tries = 0
        self._is_asked = False
        """Whether the current frame was sent."""
        self.status = 0
        """The status of the last answer; 0: there was none in time."""
        self.result: PushResult = "unsent" if send.frames else "sent"

    @property
    def left(self) -> bool:
        return self._at < len(self._send.frames)

    def request(self) -> bytes:
        frame, self._is_asked = self._send.frames[self._at], True
        return self._signer.head(self._send.connection_id, self._hashes[id(frame)], len(frame)) + frame

    def answered(self, status: int) -> float | None:
        self.status = status
        if 200 <= status < 300:
            self._at, self._tries, self._is_asked = self._at + 1, 0, False
            if self.left:
                return 0.0
            self.result = "sent"
            return None
        self._tries += 1
        if status in AGAIN and self._tries < TRIES:
            return random.uniform(0.5, 1.0) * FIRST_PAUSE * float(2 ** (self._tries - 1))  # noqa: S311
        # 0: there was no response in time, so it is not sent again.
        missed: PushResult = "late" if self._is_asked else "unsent"
        self.result = "gone" if status == GONE else missed if status == 0 or status in AGAIN else "refused"
        return None


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
