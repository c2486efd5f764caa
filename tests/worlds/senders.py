"""Callers, senders and messages for unit tests."""

from __future__ import annotations

from typing import Any

from headrace.core.caller import Caller
from headrace.core.sender import SenderContext
from headrace.core.stream import TableSettings
from headrace.stage.registry import STREAMS
from tests.fakes.clock import FixedClock

NOW = "2025-11-21T10:00:58.722861Z"
CLOCK = FixedClock(NOW)
TABLE = TableSettings(table="ChatMessages", retention_days=30)
CHAT = STREAMS["chat"]


def caller(subject: str = "alice", *scopes: str, expires_at: int = 4_102_444_800) -> Caller:
    return Caller(subject, subject.title(), frozenset(scopes or ("chat:write", "chat:read")), expires_at)


def sender(subject: str = "alice", *, trusted: bool = False) -> SenderContext:
    return SenderContext(subject, subject.title(), trusted, CLOCK.now())


def message(**fields: Any) -> dict[str, Any]:
    return {"roomId": "kitchen", "message": "hello", "messageId": "m-1", "timestamp": NOW, **fields}
