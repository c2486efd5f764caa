"""A courier in memory, for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from headrace.push.base import Send, Verdict


class MemoryCourier:
    """Keeps what was ``sent`` by connection; ``verdicts`` says who does not get it, and why."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        self.verdicts: dict[str, Verdict] = {}
        self.asked: list[str] = []

    def deliver(self, sends: Sequence[Send], seconds: float) -> list[Verdict]:  # noqa: ARG002 - takes no time
        """One verdict per send, in order."""
        verdicts: list[Verdict] = []
        for send in sends:
            self.asked.append(send.connection_id)
            verdict = self.verdicts.get(send.connection_id, "sent")
            if verdict == "sent":
                self.sent[send.connection_id].extend(send.frames)
            verdicts.append(verdict)
        return verdicts
