"""Reads each IRC channel as its nicks, over the public API, and compares with the expected memberships."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from loadtest.chat.irc_membership import OPEN, Channel, Interval, Kind
from loadtest.client.chat_events import ChatEvent
from loadtest.client.target import Target
from localstage.client.http_api import HttpApi

THREADS = 8
PAGE = 200
REQUESTS = 6_000
"""Default limit of requests: about two minutes on two cores."""
PATIENCE = 30.0
"""Seconds in which joins and leaves may still be stored, after all messages are."""
EXAMPLES = 5
CHANGES = ("JOIN", "LEAVE")

PresenceKey = tuple[str, Kind, str]
"""User id, kind and time of the item that shows a join or leave."""


@dataclass(frozen=True)
class Choice:
    """The nicks to read as, as (channel, nick); ``of`` is the number of all nicks."""

    nicks: tuple[tuple[Channel, str], ...]
    of: int
    requests: int

    def describe(self) -> str:
        """``1,234 nicks``, or the size of the sample."""
        if len(self.nicks) == self.of:
            return f"{self.of:,} nicks"
        return f"a sample of {len(self.nicks):,} of {self.of:,} nicks"


def choose(channels: Sequence[Channel], wanted: str = "") -> Choice:
    """``wanted`` nicks (a number, or ``all``), in a fixed order.

    Without ``wanted`` as many as can be read with ``REQUESTS`` requests.
    """
    everyone = [(channel, nick) for channel in channels for nick in channel.intervals]
    random.Random(0).shuffle(everyone)
    limit = int(wanted) if wanted.isdecimal() else len(everyone)
    chosen: list[tuple[Channel, str]] = []
    requests = 0
    for channel, nick in everyone[:limit]:
        pages = max(1, math.ceil(channel.count(nick) / PAGE))
        if not wanted and chosen and requests + pages > REQUESTS:
            break
        requests += pages
        chosen.append((channel, nick))
    return Choice(tuple(chosen), len(everyone), requests)


@dataclass
class Verification:
    """Reads rooms as their nicks, each with a token, and compares with the expected intervals.

    ``sent`` are the message ids of this run, which must be readable. Messages of an earlier run of the same log may be
    readable too. ``wrong`` has a sentence for each nick whose items differ.
    """

    target: Target
    sent: frozenset[str]
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._api = self.target.reader()
        self._expected: dict[str, frozenset[PresenceKey]] = {}
        self._until = time.monotonic() + PATIENCE

    def run(self, nicks: Iterable[tuple[Channel, str]], advance: Callable[[int], object]) -> None:
        """Read as each of ``nicks``.

        Raises:
            ClientError: a page cannot be read.
        """

        def check(work: tuple[Channel, str]) -> None:
            channel, nick = work
            if problem := self._check(channel, nick):
                self.wrong.append(f"{channel.room_id}, {nick}: {problem}")
            advance(1)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(check, nicks))
        self._api.close()

    def _check(self, channel: Channel, nick: str) -> str:
        """What is wrong with the items that ``nick`` reads. Missing items may be stored a little later."""
        api = self._api.with_token(self.target.token_for(nick, "chat:read"))
        while problem := self._compare(channel, nick, _read(api, channel)):
            if not problem.startswith("misses") or time.monotonic() >= self._until:
                return problem
            time.sleep(1)
        return ""

    def _compare(self, channel: Channel, nick: str, items: Sequence[dict[str, Any]]) -> str:
        places = [(str(item["timestamp"]), str(item["messageId"])) for item in items]
        if any(later <= earlier for later, earlier in pairwise(places)):
            return "reads pages out of order, or an item twice"
        visible = {event.message_id: event for event in channel.visible(nick)}
        changes: set[PresenceKey] = set()
        said: set[str] = set()
        for item in items:
            if item["messageType"] in CHANGES:
                changes.add((item["userId"], item["messageType"], item["timestamp"]))
            elif not _same(visible.get(item["messageId"]), item):
                return f"reads {item['messageId']} of {item['timestamp']}; that is outside its memberships"
            else:
                said.add(item["messageId"])
        if missing := (visible.keys() & self.sent) - said:
            return f"misses {len(missing):,} messages of its memberships"
        expected = {change for change in self._changes(channel) if _within(channel.intervals[nick], change[2])}
        if changes - expected:
            return f"reads of {len(changes - expected):,} joins or leaves that did not happen during its memberships"
        if expected - changes:
            return f"misses {len(expected - changes):,} joins or leaves during its memberships"
        return ""

    def _changes(self, channel: Channel) -> frozenset[PresenceKey]:
        """Every effective join and leave: both ends of all intervals, and the join of this run's reader."""
        if channel.room_id not in self._expected:
            found: set[PresenceKey] = {(self.target.reader_id, "JOIN", channel.opened_at)}
            for user_id, intervals in channel.intervals.items():
                found |= {(user_id, "JOIN", begin) for begin, _ in intervals}
                found |= {(user_id, "LEAVE", end) for _, end in intervals if end != OPEN}
            self._expected[channel.room_id] = frozenset(found)
        return self._expected[channel.room_id]


def _read(api: HttpApi, channel: Channel) -> list[dict[str, Any]]:
    return [item for page in api.walk_room(channel.room_id, limit=PAGE) for item in page]


def _same(event: ChatEvent | None, item: dict[str, Any]) -> bool:
    found = tuple(item[name] for name in ("timestamp", "userId", "message", "username"))
    return event is not None and (event.timestamp, event.user_id, event.message, event.username) == found


def _within(intervals: Sequence[Interval], timestamp: str) -> bool:
    return any(begin <= timestamp < end for begin, end in intervals)
