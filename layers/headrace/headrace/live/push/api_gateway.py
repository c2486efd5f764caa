"""Pushes over API Gateway's @connections, for a fraction of the CPU of boto3's call (``make bench BENCH=live``)."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal
from urllib.parse import quote

from botocore.credentials import Credentials

from headrace.core.times import Clock
from headrace.live.push.connection_pool import ConnectionPool
from headrace.runtime.aws import REMEMBERED, Signer
from headrace.runtime.observability import report_refusal

TRIES = 4
FIRST_PAUSE = 0.05
"""Seconds, doubled with every try: 4 tries take at most about half a second."""
GONE = 410
AGAIN = frozenset({429, 500, 502, 503, 504})
PushResult = Literal["sent", "gone", "late", "unsent", "refused"]
"""``gone``: the connection is closed. ``late``: not accepted in time, or throttled too often; it may have been
delivered. ``unsent``: there was no time for it, or for its next frame. ``refused``: any other answer; the same frame
would be refused again."""


@dataclass(frozen=True, slots=True)
class Push:
    """Frames for one connection, in order; each at most 128 KB."""

    connection_id: str
    frames: Sequence[bytes]


def signer_of_posts(url: str, region: str, credentials: Credentials, clock: Clock) -> Signer:
    """Signs posts to the connections of the API at ``url`` (``https://host/stage``)."""
    return Signer("execute-api", f"{url.rstrip('/')}/@connections/", region, credentials, clock)


class ApiGatewayPusher:
    """Sends frames to connections of an API. Not thread-safe."""

    def __init__(self, signer: Signer, connections: ConnectionPool) -> None:
        self._signer = signer
        self._connections = connections

    def deliver(self, sends: Sequence[Push], seconds: float) -> list[PushResult]:
        """One result per push, in order, within about ``seconds``. No connection delays another. Never raises.

        A frame may be delivered twice. After a frame that failed, the connection gets no further frame of its push.
        """
        # Most frames go to many connections, so each is hashed once.
        hashes = {id(frame): sha256(frame).hexdigest() for send in sends for frame in send.frames}
        deliveries = [_Delivery(send, self._signer, hashes) for send in sends]
        self._connections.run([each for each in deliveries if each.left], seconds)
        for status in {each.status for each in deliveries if each.result == "refused"}:
            report_refusal("post_to_connection", f"HTTP {status}")
        return [each.result for each in deliveries]


@functools.lru_cache(maxsize=REMEMBERED)
def _path(connection_id: str) -> str:
    return quote(connection_id, safe="-._~")


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
        return self._signer.head(_path(self._send.connection_id), self._hashes[id(frame)], len(frame)) + frame

    def answered(self, status: int, _fields: Mapping[str, str]) -> float | None:
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
