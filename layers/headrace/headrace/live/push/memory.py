"""Pushes in memory, for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from headrace.live.push.port import Push, PushResult


class MemoryPusher:
    """Keeps the frames ``sent`` by connection; ``verdicts`` are the results of those that are not sent."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        self.verdicts: dict[str, PushResult] = {}
        self.asked: list[str] = []

    def deliver(self, sends: Sequence[Push], seconds: float) -> list[PushResult]:  # noqa: ARG002 - takes no time
        verdicts: list[PushResult] = []
        for send in sends:
            self.asked.append(send.connection_id)
            verdict = self.verdicts.get(send.connection_id, "sent")
            if verdict == "sent":
                self.sent[send.connection_id].extend(send.frames)
            verdicts.append(verdict)
        return verdicts
