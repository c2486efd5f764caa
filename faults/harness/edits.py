"""Users who edit and delete their messages during a fault, and what the messages must show afterwards."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

from faults.harness.changes import Changers
from loadtest.client.target import Target
from localstage.client.http_api import HttpApi

MESSAGES, USERS = 8, 3
"""Messages of a user, of whom each changes their own. Half of them can be deleted."""
DELETED = 0.08
"""The share of changes that delete."""
KEPT = 100
"""Edits of which the texts are kept."""


class Texts:
    """The accepted edits and deletions of messages."""

    def __init__(self) -> None:
        self.deleted: dict[str, str] = {}
        self._edits: dict[str, list[tuple[str, str]]] = {}

    @property
    def accepted(self) -> int:
        """How many edits and deletions were accepted."""
        return len(self.deleted) + sum(map(len, self._edits.values()))

    def add(self, key: str, timestamp: str, text: str | None) -> None:
        """One more accepted change; ``None``: it is deleted."""
        if text is None:
            self.deleted[key] = timestamp
        else:
            self._edits.setdefault(key, []).append((timestamp, text))

    def problem(self, item: Mapping[str, Any], versions: Sequence[Mapping[str, Any]]) -> str:
        """What is wrong about a message and its texts, from the oldest; empty if both are exact."""
        key, edits = item["key"], sorted(self._edits.get(item["key"], []))
        found = [(each["timestamp"], each["message"]) for each in versions]
        right: dict[str, str | None]
        if key in self.deleted:
            right, texts = {"message": "", "deletedAt": self.deleted[key]}, []
        elif edits:
            right, texts = {"message": edits[-1][1], "editedAt": edits[-1][0], "deletedAt": None}, edits[-KEPT:]
            found = found[1:]
        else:
            right, texts = {"editedAt": None, "deletedAt": None}, found
        shown = {name: item.get(name) for name in right}
        if shown != right:
            return f"{key} shows {shown} instead of {right}"
        return "" if found == texts else f"{key} has the texts {found} instead of {texts}"


class Editors(Changers):
    """Users who edit and delete their own messages."""

    def __init__(self, target: Target, scenario: str) -> None:
        authors = {f"{scenario}-editor-{number}": MESSAGES for number in range(USERS)}
        super().__init__(target, f"{scenario}-edits", authors)
        self.texts = Texts()

    def _compare(self, items: list[dict[str, Any]]) -> str:
        for item in items:
            with closing(self._target.http(item["userId"], "chat:read")) as api:
                versions = api.get(f"{self._path}/{quote(item['key'], safe='')}/versions")["items"]
            self.problems += filter(None, [self.texts.problem(item, versions)])
        if not self.texts.accepted:
            self.problems.append("no edit was accepted")
        counts = f"accepted={self.texts.accepted} deleted={len(self.texts.deleted)}"
        return f"edits: {counts} wrong={len(self.problems)}"

    def _change(self, user: str, api: HttpApi, drawn: random.Random) -> None:
        keys = [key for key in self._keys[user] if key not in self.texts.deleted]
        key = drawn.choice(keys)
        is_deleted = len(keys) > MESSAGES // 2 and drawn.random() < DELETED
        text, path = None if is_deleted else f"text {drawn.getrandbits(40)}", quote(key, safe="")
        body = {} if text is None else {"message": text}
        timestamp = self._send(api, "PATCH" if body else "DELETE", path, body)
        with self._held:
            self.texts.add(key, timestamp, text)
