"""History and its brute-force model: a list of messages, and memberships replayed event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.newest_page_cache import AGE_SECONDS, NewestPageCache
from headrace.core import times
from headrace.core.caller import Caller
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.room_shards import stored
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.rooms.memberships import Change, membership_event
from headrace.streams.chat.rooms.rooms import CachedRooms, Room
from tests.fakes.chat import MemoryMemberships, MemoryRooms
from tests.fakes.clock import FixedClock
from tests.fakes.live import live_hook
from tests.fakes.storage import MemoryCache, MemoryReader

START = times.parse_iso("2025-11-21T10:00:00Z")
USERS = ("alice", "bob", "carol")
ROOMS = {"hall": "open", "arena~2": "open", "club": "members", "stadium~4": "members", "nowhere": None}
"""Their kinds. Two have shards, in which their rows are."""
IDS = ("a", "a!", "a b", "я")
Place = tuple[str, str, str]
"""Time, id and sender: messages are ordered by these three, independently of their keys' encoding."""


@dataclass(frozen=True)
class Said:
    """One message of the model."""

    room: str
    user: str
    at: str
    id: str
    tag: str
    expires: int

    @property
    def place(self) -> Place:
        """Its position in its room; ids compare as texts that end in ``#``."""
        return (self.at, self.id + "#", self.tag)

    @property
    def key(self) -> str:
        """Its key, as its item should have it."""
        return f"{self.at}#{self.id}#{self.tag}"

    def row(self) -> dict[str, Any]:
        """Its row in the table."""
        return {
            "roomId": self.room,
            "timestampSk": self.key,
            "userId": self.user,
            "username": self.user,
            "message": "text",
            "messageType": "TEXT",
            "messageId": self.id,
            "timestamp": self.at,
            "expiresAt": self.expires,
        }


def time_of(tick: int) -> str:
    return times.iso(START + tick * times.SECOND)


class Platform:
    """The real reading code with table, rooms, memberships and cache in memory."""

    def __init__(self) -> None:
        self.clock = FixedClock(START)
        self.said: list[Said] = []
        self.cache = MemoryCache(self.clock)
        self.memberships = MemoryMemberships()
        rooms = MemoryRooms()
        for name, kind in ROOMS.items():
            if kind is not None:
                rooms.create(Room(name, kind, "group", time_of(0), "alice"))  # type: ignore[arg-type]
        access = RoomAccess(CachedRooms(rooms), self.memberships)
        reader = MessageReader(MemoryReader(lambda _: [stored(said.row()) for said in self.said]))
        newest = NewestPageCache(self.cache, self.clock)
        self.history = History(reader, CursorSigner(b"k" * 32), "messages", self.clock, access, newest)

    def store(self, said: Said, *, invalidates: bool) -> None:
        """Put a message into the table; the writer may end before it invalidates the cached page."""
        if said not in self.said:
            self.said.append(said)
        if invalidates:
            live_hook(self.cache, self.clock).after_store([said.row()])

    def move(self, kind: Any, user: str, tick: int, event_id: str) -> None:
        """Add a join or leave of every room of members."""
        event = membership_event(time_of(tick), event_id)
        for room_id in ("club", "stadium~4"):
            self.memberships.add(Change(user_id=user, room_id=room_id, kind=kind, event=event))

    @staticmethod
    def caller(user: str) -> Caller:
        return Caller(user, user, frozenset({"chat:read"}), START // times.SECOND + 10**6)


class Model:
    """The readable messages, found by a scan of all messages."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.moves: set[tuple[str, str, int]] = set()
        """(user, time, 0 for a join and 1 for a leave): a set, since repeats change nothing."""
        self.moments: list[tuple[int, tuple[Said, ...]]] = []

    def remember(self, now: int) -> None:
        """Record the messages of this moment: a cached page may be that old."""
        oldest = now - round(AGE_SECONDS * times.SECOND)
        self.moments = [each for each in self.moments if each[0] >= oldest] + [(now, tuple(self.said))]

    def is_in(self, user: str, at: str) -> bool:
        """Whether ``user`` is in the members room at that time: replays every join and leave until then."""
        inside = False
        for _, leaves in sorted((when, leaves) for who, when, leaves in self.moves if who == user and when <= at):
            inside = not leaves
        return inside

    def was_ever_in(self, user: str) -> bool:
        """Whether ``user`` was ever in the members room."""
        return any(self.is_in(user, when) for who, when, leaves in self.moves if who == user and not leaves)

    def may_read(self, user: str, said: Said) -> bool:
        """Whether ``user`` may read it now."""
        return ROOMS[said.room] != "members" or self.is_in(user, said.at)

    def room(self, user: str, room: str, now: int, said: Iterable[Said] | None = None) -> list[Said]:
        """All messages that ``user`` may read in ``room``, newest first."""
        seconds = now // times.SECOND
        found = [
            each
            for each in (self.said if said is None else said)
            if each.room == room and each.expires > seconds and self.may_read(user, each)
        ]
        return sorted(found, key=lambda each: each.place, reverse=True)

    def messages_of(self, caller: str, user: str, now: int) -> list[Said]:
        """All messages of ``user`` that ``caller`` may read, newest first."""
        seconds = now // times.SECOND
        found = [
            each
            for each in self.said
            if each.user == user and each.expires > seconds and (caller == user or self.may_read(caller, each))
        ]
        return sorted(found, key=lambda each: (each.place, each.room), reverse=True)


Before = Callable[[Said], bool]


def one_way(all_of_them: Sequence[Said], limit: int, *, newest_first: bool, ahead: Before) -> tuple[list[str], bool]:
    """The keys on a page and its ``hasMore``, among those of ``all_of_them`` (newest first) that are ``ahead``."""
    left = [each for each in (all_of_them if newest_first else all_of_them[::-1]) if ahead(each)]
    page = left[:limit] if newest_first else left[:limit][::-1]
    return [each.key for each in page], len(left) > limit


def around(all_of_them: Sequence[Said], limit: int, *, is_newer: Before) -> tuple[list[str], bool]:
    """A page around a position: ``limit // 2`` newer messages, or more from the side that has more."""
    newer = sum(1 for each in all_of_them if is_newer(each))
    start = min(max(newer - limit // 2, 0), max(len(all_of_them) - limit, 0))
    page = all_of_them[start : start + limit]
    return [each.key for each in page], len(page) < len(all_of_them)
