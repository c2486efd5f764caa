"""Users who react to messages during a fault and take it back, and what the messages must show afterwards."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from loadtest.client.chat_events import uuid7
from loadtest.client.target import Target
from localstage.client.errors import ClientError, HttpError
from localstage.client.http_api import HttpApi

VALUES = ("👍", "🎉", "not sure")
MESSAGES, USERS = 3, 6
PAUSE = 0.1
"""Seconds between two reactions of a user."""
STORED_WITHIN = 30.0
GIVE_UP = 150.0
"""Seconds after which a reaction that is refused counts as a problem."""


class Chosen:
    """The accepted reactions: of each user to each message, the one with the latest time; ``None``: taken back."""

    def __init__(self) -> None:
        self.accepted = 0
        self._last: dict[tuple[str, str], tuple[str, str | None]] = {}

    def add(self, key: str, user: str, timestamp: str, value: str | None) -> None:
        """One more accepted reaction."""
        self.accepted += 1
        self._last[key, user] = max(
            self._last.get((key, user), ("", None)), (timestamp, value), key=lambda each: each[0]
        )

    def of(self, key: str) -> dict[str, str]:
        """What each user chose for a message."""
        return {user: value for (to, user), (_, value) in self._last.items() if to == key and value is not None}

    def problem(self, item: Mapping[str, Any], reactors: Mapping[str, str]) -> str:
        """What is wrong about the counts of a message and the list of who reacted; empty if both are exact."""
        chosen = self.of(item["key"])
        if item.get("reactions", {}) != Counter(chosen.values()):
            return f"{item['key']} shows {item.get('reactions')} instead of {dict(Counter(chosen.values()))}"
        if reactors != chosen:
            return f"{item['key']} has reactions of {dict(reactors)} instead of {chosen}"
        return ""


class Reactors:
    """Users who react to a few messages in a room of their own, each in a thread, from start to stop."""

    def __init__(self, target: Target, scenario: str) -> None:
        self.chosen = Chosen()
        self.problems: list[str] = []
        self._target = target
        self._room = f"{scenario}-reactions"
        self._users = [f"{scenario}-reactor-{number}" for number in range(USERS)]
        self._path = f"/rooms/{quote(self._room, safe='')}/messages"
        self._stopping = threading.Event()
        self._held = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._keys: list[str] = []

    def start(self) -> None:
        """Send the messages, wait until they are stored, and start to react to them."""
        with closing(self._target.http(self._users[0], "chat:write")) as api:
            for number in range(MESSAGES):
                api.post(self._path, {"message": f"message {number}"})
        deadline = time.monotonic() + STORED_WITHIN
        while len(self._keys) < MESSAGES and time.monotonic() < deadline:
            time.sleep(0.2)
            self._keys = [item["key"] for item in self._items()]
        for user in self._users:
            thread = threading.Thread(target=self._react, args=(user,), name=user, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop, and wait until each reaction that was sent is accepted."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(GIVE_UP + 30)

    def note(self) -> str:
        """Compare what the messages show with what was accepted, once nothing is in a lane."""
        items = list(self._items())
        with closing(self._target.reader()) as api:
            for item in items:
                page = api.get(f"{self._path}/{quote(item['key'], safe='')}/reactions", {"limit": "200"})
                reactors = {each["userId"]: each["value"] for each in page["items"]}
                self.problems += filter(None, [self.chosen.problem(item, reactors)])
        if len(items) != MESSAGES or not self.chosen.accepted:
            self.problems.append(f"{len(items)} messages with {self.chosen.accepted} accepted reactions")
        shown = sum(sum(item.get("reactions", {}).values()) for item in items)
        return f"reactions: accepted={self.chosen.accepted} shown={shown} wrong={len(self.problems)}"

    def _items(self) -> Iterator[dict[str, Any]]:
        with closing(self._target.reader()) as api:
            try:
                yield from (item for page in api.walk_room(self._room) for item in page)
            except HttpError as error:
                if error.code != "not_found":
                    raise

    def _react(self, user: str) -> None:
        drawn = random.Random(user)
        try:
            with closing(self._target.http(user, "chat:write")) as api:
                while not self._stopping.wait(PAUSE):
                    change_id = uuid7(datetime.now(UTC), drawn.getrandbits(74))
                    key, value = drawn.choice(self._keys), drawn.choice((None, *VALUES))
                    timestamp = self._send(api, key, value, change_id)
                    with self._held:
                        self.chosen.add(key, user, timestamp, value)
        except (ClientError, LookupError) as error:
            self.problems.append(f"{user}: {error!r}")

    def _send(self, api: HttpApi, key: str, value: str | None, change_id: str) -> str:
        """Send a reaction until it is accepted, as one change; its time."""
        path, given = f"{self._path}/{quote(key, safe='')}/reaction", {"changeId": change_id}
        deadline = time.monotonic() + GIVE_UP
        while True:
            try:
                answer = api.delete(path, given) if value is None else api.put(path, {**given, "value": value})
                return str(answer["timestamp"])
            except HttpError as error:
                if not error.retryable or time.monotonic() > deadline:
                    raise
