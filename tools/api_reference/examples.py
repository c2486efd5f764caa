"""The examples of the documents: requests and their answers, recorded from a running stage.

``make reference RECORD=1`` records ``examples.json`` again; ``tests/api/test_access.py`` sends every request to a
stage and compares the answers with the schemas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headrace.core.sender import SenderContext
from headrace.core.stream import Stream
from headrace.core.times import SystemClock

FILE = Path(__file__).parent / "examples.json"


@dataclass(frozen=True, slots=True)
class Example:
    """One request and its answer. ``request`` has ``path``, ``query`` and ``body``, or for a frame only ``body``."""

    key: str
    name: str
    request: Mapping[str, Any]
    status: int
    answer: Any


@cache
def examples() -> list[Example]:
    """All examples, in the order in which they were recorded."""
    if not FILE.exists():
        return []
    return [Example(**each) for each in json.loads(FILE.read_text())]


def examples_of(key: str) -> list[Example]:
    """The examples of one route or action."""
    return [each for each in examples() if each.key == key]


def event_of(key: str) -> Mapping[str, Any]:
    """An event of a route that takes events, from its first example."""
    request = examples_of(key)[0].request
    events = request["body"].get("events") or [request["body"]]
    return {**request.get("path", {}), **events[0]}


def receipt_of(stream: Stream, event: Mapping[str, Any]) -> Mapping[str, str]:
    """The fields that an accepted event's result has, beside its lane, and their values for ``event``."""
    trusted = SenderContext("producer", "producer", True, SystemClock().now())
    names = {field.alias for field in stream.incoming.model_fields.values()} if stream.incoming else set()
    given = {name: value for name, value in {"userId": "producer", **event}.items() if name in names}
    return stream.accept(given, trusted).receipt
