"""Imports who was in a channel when, and reads each channel as each of its nicks, over the public API only."""

from __future__ import annotations

import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from loadtest.chat.irc_membership import GOES_ON, Change, Channel, Kind, Stay
from loadtest.client.chat_events import ChatEvent
from loadtest.client.target import Target
from loadtest.sending.threads import in_threads
from localstage.client.errors import ClientError, HttpError
from localstage.client.http_api import HttpApi

THREADS = 8
PAGE = 200
REQUESTS = 6_000
"""Reads that a run makes without being asked for more: about two minutes on two cores."""
PATIENCE = 30.0
EXAMPLES = 5
IMPORTER = "replay-importer"
STORIES = ("JOIN", "LEAVE")

Story = tuple[str, Kind, str]
"""Who, what, when: a message that tells of a join or leave."""
Progress = Callable[[int], object]


def changes_by_nick(channel: Channel) -> list[tuple[Channel, list[Change]]]:
    """The changes of each nick, to be told in order: a join that adds nothing must not be told before the first."""
    found: dict[str, list[Change]] = {}
    for change in channel.changes:
        found.setdefault(change.user_id, []).append(change)
    return [(channel, changes) for changes in found.values()]


def import_channels(channels: Sequence[Channel], target: Target, advance: Progress) -> None:
    """Create the rooms and tell all joins and leaves, as a producer with events:write.

    The reader of this run creates the rooms, so it is in them from the start and may read them whole.

    Raises:
        ClientError: there is an open room of that name, or a change is refused.
    """
    api = HttpApi(target.http_url, target.signed_in(IMPORTER, "events:write"))
    for channel in channels:
        _create(api, channel, target.reader_id)

    def tell(work: tuple[Channel, list[Change]]) -> None:
        channel, changes = work
        for change in changes:
            _tell(api, channel, change)
            advance(1)

    in_threads(tell, [work for channel in channels for work in changes_by_nick(channel)], THREADS)
    api.close()


def _create(api: HttpApi, channel: Channel, creator: str) -> None:
    body = {"kind": "members", "createdAt": channel.opened_at, "createdBy": creator}
    try:
        api.put(_path(channel.room_id), body)
    except HttpError as error:
        if error.code != "conflict":
            raise
        reason = (
            f"the room {channel.room_id} is there already and is another one; throw the stage's data away: make reset"
        )
        raise ClientError(reason) from None


def _tell(api: HttpApi, channel: Channel, change: Change) -> None:
    path = f"{_path(channel.room_id)}/members/{quote(change.user_id, safe='')}"
    if change.kind == "JOIN":
        api.put(path, {"joinedAt": change.timestamp, "id": change.event_id})
    else:
        api.delete(path, {"leftAt": change.timestamp, "id": change.event_id})


def _path(room_id: str) -> str:
    return f"/rooms/{quote(room_id, safe='')}"


class WithoutStories:
    """A reader to whom rooms hold only what was said: joins and leaves are looked at by :class:`Verification`."""

    def __init__(self, reader: HttpApi) -> None:
        self._reader = reader

    def walk_room(
        self, room: str, *, limit: int = PAGE, start: str | None = None, end: str | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """The pages, without what tells of joins and leaves."""
        for page in self._reader.walk_room(room, limit=limit, start=start, end=end):
            yield [item for item in page if item.get("messageType") not in STORIES]


@dataclass(frozen=True)
class Choice:
    """Which nicks are read: (channel, nick); ``of`` is how many there are."""

    nicks: tuple[tuple[Channel, str], ...]
    of: int
    requests: int

    def told(self) -> str:
        """``1,234 nicks``, or how many of them in a sample."""
        if len(self.nicks) == self.of:
            return f"{self.of:,} nicks"
        return f"a sample of {len(self.nicks):,} of {self.of:,} nicks"


def choose(channels: Sequence[Channel], wanted: str | None = None) -> Choice:
    """All nicks, or as many as ``wanted`` (a number, or ``all``), in an order that is always the same.

    Without ``wanted`` it is as many as can be read with ``REQUESTS`` requests.

    Raises:
        ClientError: ``wanted`` is neither.
    """
    wanted = (wanted if wanted is not None else os.environ.get("NICKS", "")).strip()
    if wanted not in ("", "all") and not (wanted.isdecimal() and int(wanted) > 0):
        raise ClientError(f"NICKS is {wanted!r}; it is all or a number from 1")
    everybody = [(channel, nick) for channel in channels for nick in channel.stays]
    random.Random(0).shuffle(everybody)
    limit = int(wanted) if wanted.isdecimal() else len(everybody)
    chosen: list[tuple[Channel, str]] = []
    requests = 0
    for channel, nick in everybody[:limit]:
        pages = max(1, math.ceil(channel.count(nick) / PAGE))
        if not wanted and chosen and requests + pages > REQUESTS:
            break
        requests += pages
        chosen.append((channel, nick))
    return Choice(tuple(chosen), len(everybody), requests)


@dataclass
class Verification:
    """Reads rooms as their nicks, each with their own token, and compares with the rule.

    ``sent`` are the ids of what this run sent, which has to be there; what an earlier run left of the same log may be.
    ``wrong`` are sentences, one for each nick that reads something else.
    """

    target: Target
    sent: frozenset[str]
    wrong: list[str] = field(default_factory=list)
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        self._api = self.target.reader()
        self._stories: dict[str, frozenset[Story]] = {}
        self._until: float | None = None
        self._lock = threading.Lock()

    def run(self, nicks: Iterable[tuple[Channel, str]], advance: Progress) -> None:
        """Read as everyone in ``nicks``.

        Raises:
            ClientError: a page cannot be read at all.
        """

        def check(work: tuple[Channel, str]) -> None:
            channel, nick = work
            if trouble := self._check(channel, nick):
                self.wrong.append(f"{channel.room_id}, {nick}: {trouble}")
            advance(1)

        in_threads(check, nicks, THREADS)
        self._api.close()

    def _check(self, channel: Channel, nick: str) -> str:
        """What is wrong with what ``nick`` reads. Joins and leaves are waited for a little: nobody polled for them."""
        api = self._api.signed_in(self.target.signed_in(nick, "chat:read"))
        while trouble := self._compare(channel, nick, _read(api, channel)):
            if not trouble.startswith("misses") or not self._may_wait():
                return trouble
            time.sleep(1)
        return ""

    def _may_wait(self) -> bool:
        with self._lock:
            if self._until is None:
                self._until = time.monotonic() + self.patience
            return time.monotonic() < self._until

    def _compare(self, channel: Channel, nick: str, items: Sequence[dict[str, Any]]) -> str:
        places = [(str(item["timestamp"]), str(item["messageId"])) for item in items]
        if any(later <= earlier for later, earlier in pairwise(places)):
            return "reads pages out of order, or something twice"
        visible = {event.message_id: event for event in channel.visible(nick)}
        stories: set[Story] = set()
        said: set[str] = set()
        for item in items:
            if item["messageType"] in STORIES:
                stories.add((item["userId"], item["messageType"], item["timestamp"]))
            elif not _same(visible.get(item["messageId"]), item):
                return f"reads {item['messageId']} of {item['timestamp']}, which was not said while they were in"
            else:
                said.add(item["messageId"])
        if missing := (visible.keys() & self.sent) - said:
            return f"misses {len(missing):,} messages that were said while they were in"
        expected = {story for story in self._told(channel) if _within(channel.stays[nick], story[2])}
        if stories - expected:
            return f"reads of {len(stories - expected):,} joins or leaves that there were not while they were in"
        if expected - stories:
            return f"misses {len(expected - stories):,} joins or leaves while they were in"
        return ""

    def _told(self, channel: Channel) -> frozenset[Story]:
        """Every join and leave that changed something: the ends of all stays, and the coming of this run's reader."""
        if channel.room_id not in self._stories:
            told: set[Story] = {(self.target.reader_id, "JOIN", channel.opened_at)}
            for user_id, stays in channel.stays.items():
                told |= {(user_id, "JOIN", begin) for begin, _ in stays}
                told |= {(user_id, "LEAVE", end) for _, end in stays if end != GOES_ON}
            self._stories[channel.room_id] = frozenset(told)
        return self._stories[channel.room_id]


def _read(api: HttpApi, channel: Channel) -> list[dict[str, Any]]:
    return [item for page in api.walk_room(channel.room_id, limit=PAGE) for item in page]


def _same(event: ChatEvent | None, item: dict[str, Any]) -> bool:
    return event is not None and (event.timestamp, event.user_id, event.message, event.username) == (
        item["timestamp"],
        item["userId"],
        item["message"],
        item["username"],
    )


def _within(stays: Sequence[Stay], timestamp: str) -> bool:
    return any(begin <= timestamp < end for begin, end in stays)
