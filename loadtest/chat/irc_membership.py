"""Computes the membership intervals of an IRC channel from its log, the changes to import, and the readable messages.

A log starts in the middle of a conversation and does not record who quit. The rule is:

* A nick whose first line is a message, a leave or a rename was in the channel from the start of the file.
* A join starts an interval, a leave ends it. A join within an interval and a leave outside of one change nothing.
* A rename ends the interval of the old nick and starts one of the new nick. A rename to the same nick changes nothing.
* A message outside an interval (a few logs lack a return) starts none.
* The end of the file ends no interval.

The file starts at midnight of the date in its name. Every line has a unique time (``irc_log.py``).
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loadtest.chat.irc_log import NAMESPACE, Log, Presence
from loadtest.client.chat_events import ChatEvent

Kind = Literal["JOIN", "LEAVE"]
Interval = tuple[str, str]
"""[from, to) in times that sort as text. ``to`` of an open interval is ``OPEN``."""

OPEN = "~"
"""Sorts after every time."""


@dataclass(frozen=True, slots=True)
class Change:
    """A join or leave to import. ``event_id`` depends on file and line only, so a second import changes nothing."""

    kind: Kind
    user_id: str
    timestamp: str
    event_id: str


@dataclass(frozen=True)
class Channel:
    """A log as a room with members.

    ``changes`` are sent to the platform: the joins and leaves of the log, including repeated ones. ``intervals`` are
    the expected memberships of each nick, by the rule above.
    """

    room_id: str
    opened_at: str
    changes: tuple[Change, ...]
    intervals: Mapping[str, tuple[Interval, ...]]
    messages: Sequence[ChatEvent]

    def visible(self, user_id: str) -> Iterator[ChatEvent]:
        """The messages within the intervals of the nick."""
        for begin, end in self._spans(user_id):
            yield from self.messages[begin:end]

    def count(self, user_id: str) -> int:
        """The number of messages of :meth:`visible`."""
        return sum(end - begin for begin, end in self._spans(user_id))

    def _spans(self, user_id: str) -> Iterator[tuple[int, int]]:
        for begin, end in self.intervals[user_id]:
            yield tuple(bisect_left(self.messages, at, key=lambda said: said.timestamp) for at in (begin, end))  # type: ignore[misc]


def channel_of(log: Log) -> Channel:
    """``log`` as a room with members."""
    lines = _in_order(log)
    return Channel(log.room_id, log.opened_at, tuple(_changes(log, lines)), _intervals(log, lines), log.messages)


def _in_order(log: Log) -> list[ChatEvent | Presence]:
    return sorted([*log.messages, *log.presences], key=lambda line: line.timestamp)


def _changes(log: Log, lines: Sequence[ChatEvent | Presence]) -> Iterator[Change]:
    seen: set[str] = set()

    def change(kind: Kind, nick: str, timestamp: str, origin: str) -> Change:
        event_id = uuid.uuid5(NAMESPACE, f"{log.room_id}:{origin}:{kind}:{nick}")
        return Change(kind, nick, timestamp, str(event_id))

    for line in lines:
        presence = line if isinstance(line, Presence) else None
        nick = line.user_id
        if nick not in seen and (presence is None or presence.kind != "JOIN"):
            yield change("JOIN", nick, log.opened_at, "start")
        seen.add(nick)
        if presence is None or presence.new_id == nick:
            continue
        if presence.kind == "JOIN":
            yield change("JOIN", nick, presence.timestamp, str(presence.line))
            continue
        yield change("LEAVE", nick, presence.timestamp, str(presence.line))
        if presence.new_id is not None:
            seen.add(presence.new_id)
            yield change("JOIN", presence.new_id, presence.timestamp, str(presence.line))


def _intervals(log: Log, lines: Sequence[ChatEvent | Presence]) -> dict[str, tuple[Interval, ...]]:
    """The intervals, computed from the lines and independently of the changes, so that they check each other."""
    inside: dict[str, str] = {}
    intervals: dict[str, list[Interval]] = {}

    def enter(nick: str, at: str) -> None:
        intervals.setdefault(nick, [])
        inside.setdefault(nick, at)

    def leave(nick: str, at: str) -> None:
        since = inside.pop(nick, at)
        if since < at:
            intervals[nick].append((since, at))

    for line in lines:
        kind = line.kind if isinstance(line, Presence) else "SAID"
        if line.user_id not in intervals:
            enter(line.user_id, line.timestamp if kind == "JOIN" else log.opened_at)
        if kind == "JOIN":
            enter(line.user_id, line.timestamp)
        elif kind == "LEAVE":
            leave(line.user_id, line.timestamp)
        elif isinstance(line, Presence) and line.new_id not in (None, line.user_id):
            leave(line.user_id, line.timestamp)
            enter(str(line.new_id), line.timestamp)
    for nick, since in inside.items():
        intervals[nick].append((since, OPEN))
    return {nick: tuple(each) for nick, each in intervals.items()}
