"""Eight kinds of records that can never be stored, each with a unique text that identifies it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

KINDS = 8


@dataclass(frozen=True)
class Poison:
    """One record: ``mark`` is in ``body``; ``reason`` is the expected reason of its dead letter.

    A record with ``encoding`` must be sent to the retry lane: RabbitMQ's event source mapping sets the encoding itself.
    """

    mark: bytes
    body: bytes
    reason: str
    encoding: str = ""


def make(number: int, at: str) -> list[Poison]:
    """One record of each kind; ``at`` is a canonical time, ``number`` identifies the set."""
    made: list[Poison] = []

    def add(kind: str, reason: str, body: Any, encoding: str = "") -> None:
        mark = f"poison-{kind}-{number}"
        text = body(mark) if callable(body) else body
        raw = text if isinstance(text, bytes) else json.dumps(text).encode()
        made.append(Poison(mark.encode(), raw, reason, encoding))

    def event(mark: str, **changed: Any) -> dict[str, Any]:
        whole = {
            "roomId": "poison",
            "messageId": mark,
            "timestamp": at,
            "userId": "mallory",
            "username": "mallory",
            "message": "no good",
            "messageType": "TEXT",
            "sender": "a" * 12,
            **changed,
        }
        return {name: value for name, value in whole.items() if value is not None}

    def envelope(mark: str, *, version: int = 1, stream: str = "chat", **changed: Any) -> dict[str, Any]:
        events = [event(mark, **changed)]
        return {"v": version, "stream": stream, "correlationId": mark, "acceptedAt": at, "events": events}

    add("not-base64", "not_base64", lambda mark: f"%%{mark}%%".encode(), encoding="base64")
    add("not-json", "not_json", lambda mark: f'{{"v": 1, "{mark}"'.encode())
    add("unknown-stream", "unknown_stream", lambda mark: envelope(mark, stream="weather"))
    add("missing-key", "missing_field", lambda mark: envelope(mark, roomId=None))
    add("too-large", "item_too_large", lambda mark: envelope(mark, message="x" * 410 * 1024))
    add("number", "invalid_event", lambda mark: _with_number(envelope(mark)))
    add("empty-key", "empty_key", lambda mark: envelope(mark, roomId=""))
    add("newer", "newer_version", lambda mark: envelope(mark, version=2))
    return made


def _with_number(envelope: dict[str, Any]) -> bytes:
    """A number of more digits than DynamoDB keeps, where a chat message has its text."""
    return json.dumps(envelope).replace('"no good"', "1" * 60).encode()
