"""Users who react to messages during a fault and take it back, and what the messages must show afterwards."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote

from faults.harness.changes import Changers
from loadtest.client.target import Target
from localstage.client.http_api import HttpApi

VALUES = ("👍", "🎉", "not sure")
MESSAGES, USERS = 3, 6


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


class Reactors(Changers):
    """Users who react to a few messages of one of them, and take it back."""

    def __init__(self, target: Target, scenario: str) -> None:
        authors = {f"{scenario}-reactor-{number}": 0 if number else MESSAGES for number in range(USERS)}
        super().__init__(target, f"{scenario}-reactions", authors)
        self.chosen = Chosen()

    def _compare(self, items: list[dict[str, Any]]) -> str:
        with closing(self._target.reader()) as api:
            for item in items:
                page = api.get(f"{self._path}/{quote(item['key'], safe='')}/reactions", {"limit": "200"})
                reactors = {each["userId"]: each["value"] for each in page["items"]}
                self.problems += filter(None, [self.chosen.problem(item, reactors)])
        if not self.chosen.accepted:
            self.problems.append("no reaction was accepted")
        shown = sum(sum(item.get("reactions", {}).values()) for item in items)
        return f"reactions: accepted={self.chosen.accepted} shown={shown} wrong={len(self.problems)}"

    def _change(self, user: str, api: HttpApi, drawn: random.Random) -> None:
        (keys,) = self._keys.values()
        key, value = drawn.choice(keys), drawn.choice((None, *VALUES))
        path = f"{quote(key, safe='')}/reaction"
        body = {} if value is None else {"value": value}
        timestamp = self._send(api, "PUT" if body else "DELETE", path, body)
        with self._held:
            self.chosen.add(key, user, timestamp, value)
