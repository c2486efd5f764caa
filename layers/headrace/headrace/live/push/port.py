"""The port of pushes to connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

PushResult = Literal["sent", "gone", "late", "unsent", "refused"]
"""``gone``: the connection is closed. ``late``: not accepted in time, or throttled too often; it may have been
delivered. ``unsent``: there was no time for it, or for its next frame. ``refused``: any other answer; the same frame
would be refused again."""


@dataclass(frozen=True, slots=True)
class Push:
    """Frames for one connection, in order; each at most 128 KB."""

    connection_id: str
    frames: Sequence[bytes]


class ConnectionPusher(Protocol):
    """Sends frames to connections."""

    def deliver(self, sends: Sequence[Push], seconds: float) -> list[PushResult]:
        """One result per push, in order, within about ``seconds``. No connection delays another. Never raises.

        A frame may be delivered twice. After a frame that failed, the connection gets no further frame of its push.
        """
