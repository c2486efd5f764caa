"""Who was in an IRC channel when, told from its log; what an import sends, and what each nick may then read.

Logs start in the middle and never say when someone quit, so this is the rule:

* A nick first seen speaking, leaving or being renamed was in the channel from the file's start.
* A join lets in, a leave lets out. A join while inside adds nothing, nor does a leave while outside.
* A rename ends the stay of the old nick and begins one of the new nick at that time; to the same nick it is nothing.
* Speaking while outside (a few nicks do: their return is not in the log) lets nobody in.
* The file's end closes nothing.

The file's start is the midnight of the date in its name, and every line has a time of its own (``irc.py``).
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
Stay = tuple[str, str]
"""[from, to) in times that sort as text; of a stay that goes on, ``to`` is ``GOES_ON``."""

GOES_ON = "~"
"""Sorts after every time."""


@dataclass(frozen=True, slots=True)
class Change:
    """One join or leave to import. ``event_id`` follows from file and line, so a second import changes nothing."""

    kind: Kind
    user_id: str
    timestamp: str
    event_id: str


@dataclass(frozen=True)
class Channel:
    """One log as a room of members. ``changes`` is what is told to the platform: joins and leaves as they stand in the
    log, repeats and all. ``stays`` is what that must come to, by the rule above."""

    room_id: str
    opened_at: str
    changes: tuple[Change, ...]
    stays: Mapping[str, tuple[Stay, ...]]
    messages: Sequence[ChatEvent]

    def visible(self, user_id: str) -> Iterator[ChatEvent]:
        """What was said while the nick was in the channel."""
        for begin, end in self._spans(user_id):
            yield from self.messages[begin:end]

    def count(self, user_id: str) -> int:
        """How many messages :meth:`visible` has."""
        return sum(end - begin for begin, end in self._spans(user_id))

    def _spans(self, user_id: str) -> Iterator[tuple[int, int]]:
        for begin, end in self.stays[user_id]:
            yield tuple(bisect_left(self.messages, at, key=lambda said: said.timestamp) for at in (begin, end))  # type: ignore[misc]


def channel_of(log: Log) -> Channel:
    """``log`` as a room of members."""
    lines = _in_order(log)
    return Channel(log.room_id, log.opened_at, tuple(_changes(log, lines)), _stays(log, lines), log.messages)


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


def _stays(log: Log, lines: Sequence[ChatEvent | Presence]) -> dict[str, tuple[Stay, ...]]:
    """The stays, from the lines and not from the changes, so that one can be checked by the other."""
    inside: dict[str, str] = {}
    stays: dict[str, list[Stay]] = {}

    def enter(nick: str, at: str) -> None:
        stays.setdefault(nick, [])
        inside.setdefault(nick, at)

    def go(nick: str, at: str) -> None:
        since = inside.pop(nick, at)
        if since < at:
            stays[nick].append((since, at))

    for line in lines:
        kind = line.kind if isinstance(line, Presence) else "SAID"
        if line.user_id not in stays:
            enter(line.user_id, line.timestamp if kind == "JOIN" else log.opened_at)
        if kind == "JOIN":
            enter(line.user_id, line.timestamp)
        elif kind == "LEAVE":
            go(line.user_id, line.timestamp)
        elif isinstance(line, Presence) and line.new_id not in (None, line.user_id):
            go(line.user_id, line.timestamp)
            enter(str(line.new_id), line.timestamp)
    for nick, since in inside.items():
        stays[nick].append((since, GOES_ON))
    return {nick: tuple(each) for nick, each in stays.items()}
