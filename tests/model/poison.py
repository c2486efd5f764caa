"""Records that can never be stored, each with the reason of its dead letter and a marker that identifies it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.worlds.senders import NOW

NOT_BASE64 = b"%%%"
"""A body with this prefix is passed to the function unchanged, in place of base64."""


def _event(marker: str, **fields: Any) -> dict[str, Any]:
    return {
        "roomId": "kitchen",
        "messageId": marker,
        "timestamp": NOW,
        "userId": "mallory",
        "username": "Mallory",
        "message": "hello",
        "messageType": "TEXT",
        "sender": "a" * 12,
        **fields,
    }


def envelope(*events: dict[str, Any], **head: Any) -> bytes:
    """Events as the platform's publisher would send them."""
    fields = {"v": 1, "stream": "chat", "correlationId": "foreign", "acceptedAt": NOW, "events": events}
    return json.dumps(fields | head).encode()


def _without(marker: str, name: str) -> dict[str, Any]:
    event = _event(marker)
    del event[name]
    return event


POISON_EVENTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "missing_field": lambda marker: _without(marker, "roomId"),
    "empty_key": lambda marker: _event(marker, roomId=""),
    "invalid_key": lambda marker: _event(f"{marker}#1"),
    "invalid_event": lambda marker: _event(marker, message=10**400),
    "item_too_large": lambda marker: _event(marker, message="x" * 410_000),
}
"""Invalid events that an envelope contains beside valid ones."""

POISON: dict[str, Callable[[str], bytes]] = {
    "not_base64": lambda marker: NOT_BASE64 + marker.encode(),
    "not_text": lambda marker: b"\xff\x00\xfe" + marker.encode(),
    "not_json": lambda marker: b"\x01 hello " + marker.encode(),
    "not_an_envelope": lambda marker: json.dumps([marker]).encode(),
    "newer_version": lambda marker: json.dumps({"v": 2, "events": [marker]}).encode(),
    "unknown_stream": lambda marker: envelope(_event(marker), stream="chess"),
    "no_events": lambda marker: envelope(correlationId=marker),
    **{kind: lambda marker, make=make: envelope(make(marker)) for kind, make in POISON_EVENTS.items()},  # type: ignore[misc]
}
"""By reason: a record that is refused for it."""
