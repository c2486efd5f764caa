"""The events that a model's senders attempted, that were accepted, and that an operator discarded.

Written without the code under test: bodies and rows are read by their documented form alone.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from headrace.core.items import Item
from tests.worlds.senders import TABLE

SECOND = 1_000_000
RETENTION = TABLE.retention_days * 24 * 3600


class EventKey(NamedTuple):
    """The identity of an event."""

    room: str
    time: str
    id: str
    sender: str


Content = tuple[str, str, str]
"""User id, username and text."""


@functools.cache
def tag_of(subject: str) -> str:
    """Twelve characters of base32 of the subject's SHA-256."""
    return base64.b32encode(hashlib.sha256(subject.encode()).digest()).decode()[:12].lower()


@functools.lru_cache(maxsize=4096)
def events_in(body: bytes) -> frozenset[EventKey]:
    """The keys of the good events in a body; poison has none."""
    try:
        events = json.loads(body)["events"]
    except (ValueError, TypeError, KeyError):
        return frozenset()
    return frozenset(
        EventKey(event["roomId"], event["timestamp"], event["messageId"], event["sender"])
        for event in events
        if not _markers(json.dumps(event).encode())
    )


@functools.lru_cache(maxsize=4096)
def poison_in(body: bytes) -> frozenset[str]:
    """The markers of the poison in a body."""
    return frozenset(_markers(body))


def _markers(body: bytes) -> list[str]:
    return [found.decode() for found in re.findall(rb"poison-\d+", body)]


@dataclass
class Ledger:
    """What happened in one run. ``poison`` maps a marker to the expected reason of its dead letter."""

    attempted: defaultdict[EventKey, set[Content]] = field(default_factory=lambda: defaultdict(set))
    accepted_at: defaultdict[EventKey, set[int]] = field(default_factory=lambda: defaultdict(set))
    accepted: set[EventKey] = field(default_factory=set)
    poison: dict[str, str] = field(default_factory=dict)
    discarded: set[EventKey | str] = field(default_factory=set)
    buckets: dict[EventKey, str] = field(default_factory=dict)

    def attempt(self, key: EventKey, content: Content, now: int) -> None:
        """Record an event before its result is known."""
        self.attempted[key].add(content)
        self.accepted_at[key].add(now)

    def discard(self, bodies: Iterable[bytes]) -> None:
        """Record what an operator discarded."""
        for body in bodies:
            self.discarded |= events_in(body) | poison_in(body)

    def check_rows(self, rows: Iterable[Item]) -> set[EventKey]:
        """P2, P3, P12: every row is one attempted event with its sender's content, and stays in its shard."""
        found: set[EventKey] = set()
        for row in rows:
            key = key_of(row)
            assert key in self.attempted, f"unexpected: never sent {key}"
            assert key not in found, f"duplicated: {key} is stored twice"
            found.add(key)
            content = (row["userId"], row["username"], row["message"])
            assert content in self.attempted[key], f"altered: {key} holds {content}"
            assert self.buckets.setdefault(key, row["bucketId"]) == row["bucketId"], f"moved: {key} is in another shard"
            assert row["expiresAt"] in self._expiries(key), f"altered: {key} expires at another time"
        return found

    def _expiries(self, key: EventKey) -> set[int]:
        """One expiry for all sends of an event. An event over a day old has one per send."""
        sendable_until = datetime.fromisoformat(key.time) + timedelta(days=1)
        until = (sendable_until - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        return {max(until, at) // SECOND + RETENTION for at in self.accepted_at[key]}

    def check_kept(self, rows: set[EventKey], bodies: Iterable[bytes]) -> None:
        """P1, P4: every accepted event is stored, in a lane, or discarded; poison is never lost either."""
        events: set[EventKey] = set(rows)
        poison: set[str] = set()
        for body in bodies:
            events |= events_in(body)
            poison |= poison_in(body)
        lost = self.accepted - events - self.discarded
        assert not lost, f"lost: {lost} was accepted and is nowhere"
        assert events <= self.attempted.keys(), f"unexpected: never sent {events - self.attempted.keys()}"
        gone = self.poison.keys() - poison - self.discarded
        assert not gone, f"lost: {[self.poison[marker] for marker in gone]} is nowhere"


def key_of(row: Mapping[str, Any]) -> EventKey:
    """The event of a row, by its key alone."""
    time, message_id, sender = row["timestampSk"].split("#")
    assert (time, message_id) == (row["timestamp"], row["messageId"])
    return EventKey(row["roomId"], time, message_id, sender)
