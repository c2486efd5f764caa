"""What a courier promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

PushResult = Literal["sent", "gone", "late", "refused"]
"""``gone``: the connection is closed for good. ``late``: not taken in time, or asked to wait too often; it may have
come. ``refused``: anything else; the same frame would be refused again."""


@dataclass(frozen=True, slots=True)
class Push:
    """Frames for one connection, in order; each at most 128 KB."""

    connection_id: str
    frames: Sequence[bytes]


class ConnectionPusher(Protocol):
    """Sends frames to connections."""

    def deliver(self, sends: Sequence[Push], seconds: float) -> list[PushResult]:
        """One verdict per send, in order, within about ``seconds``. No connection holds up another. Never raises.

        A frame may come twice; its connection gets no further frame of the send once one did not go through.
        """
        ...
