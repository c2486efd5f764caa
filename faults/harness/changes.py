"""Users who change messages of a room of their own during a fault: what their kinds share."""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from faults.harness.workers import Workers
from headrace_client.sending import uuid7
from loadtest.client.target import Target
from localstage.client.http_api import HttpApi

PAUSE = 0.1
"""Seconds between two changes of a user."""
GIVE_UP = 150.0
"""Seconds after which a change that is refused counts as a problem."""
STORED_WITHIN = 30.0


class Changers(Workers, ABC):
    """The users of ``authors``, each in a thread from start to stop.

    Each writes as many messages as ``authors`` says; those who write none change the messages of others.
    """

    def __init__(self, target: Target, room: str, authors: Mapping[str, int]) -> None:
        super().__init__()
        self._target = target
        self._room = room
        self._authors = authors
        self._path = f"/rooms/{quote(room, safe='')}/messages"
        self._held = threading.Lock()
        self._keys: defaultdict[str, list[str]] = defaultdict(list)

    def start(self) -> None:
        """Send the messages, wait until they are stored, and start to change them."""
        for user, count in self._authors.items():
            with closing(self._target.http(user, "chat:write")) as api:
                for number in range(count):
                    api.post(self._path, {"message": f"message {number}"})
        deadline = time.monotonic() + STORED_WITHIN
        items: list[dict[str, Any]] = []
        while len(items) < sum(self._authors.values()) and time.monotonic() < deadline:
            time.sleep(0.2)
            items = list(self._items())
        if len(items) < sum(self._authors.values()):
            self.problems.append(f"{self._room}: its messages are not stored within {STORED_WITHIN:.0f} s")
            return
        for item in items:
            self._keys[item["userId"]].append(item["key"])
        for user in self._authors:
            self._add(user, partial(self._work, user))
        super().start()

    def note(self) -> str:
        """Compare what the messages show with what was accepted, once nothing is in a lane."""
        items = list(self._items())
        if len(items) != sum(self._authors.values()):
            self.problems.append(f"{self._room} has {len(items)} messages")
        return self._compare(items)

    @abstractmethod
    def _compare(self, items: list[dict[str, Any]]) -> str:
        """Add to ``problems`` what is wrong about ``items``, and say in one line what was found."""

    @abstractmethod
    def _change(self, user: str, api: HttpApi, drawn: random.Random) -> None:
        """Change one message."""

    def _items(self) -> Iterator[dict[str, Any]]:
        with closing(self._target.reader()) as api:
            yield from (item for page in api.walk_room(self._room) for item in page)

    def _work(self, user: str) -> None:
        drawn = random.Random(user)
        with closing(self._target.http(user, "chat:write", retry_timeout=GIVE_UP)) as api:
            while not self._stopping.wait(PAUSE):
                self._change(user, api, drawn)

    def _send(self, api: HttpApi, method: str, path: str, body: Mapping[str, Any]) -> str:
        """Send a change until it is accepted, as one change; its time."""
        body = {**body, "changeId": uuid7(datetime.now(UTC), random.getrandbits(74))}
        return str(api.change(method, f"{self._path}/{path}", body)["timestamp"])
