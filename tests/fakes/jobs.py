"""Jobs in memory."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import RetryLaneUnavailable
from headrace.features.people.jobs import RUNNING, Job


class MemoryJobs:
    """Jobs of one ``kind`` and their queue. ``down``: the queue takes nothing."""

    def __init__(self, kind: type[Job]) -> None:
        self.kind = kind
        self.jobs: dict[str, Any] = {}
        self.sent: list[Any] = []
        self.down = False

    def get(self, key: str) -> Any:
        return self.jobs.get(key)

    def begin(self, key: str, at: str, beside: str | None) -> Any:
        before = self.jobs.get(key)
        if before is None or (before.state != RUNNING and before.began_at < at):
            self.jobs[key] = self.kind(at, RUNNING, beside)
        return self.jobs[key]

    def send(self, task: Any, delay: int = 0) -> None:
        if self.down:
            raise RetryLaneUnavailable("the queue is unavailable: ServiceUnavailable")
        assert delay == 0
        self.sent.append(task)
