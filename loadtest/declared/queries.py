"""Runs every query of a declared stream and compares each answer with the events that were sent."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from pydantic.alias_generators import to_camel

from headrace.features.declared.stream import ID_FIELD, USER
from loadtest.checker.findings import Findings, settled
from loadtest.declared.events import Made, Totals
from loadtest.sending.queries import MOST, SAMPLED, Queries
from localstage.client.http_api import HttpApi


class DeclaredQueries(Queries):
    """Queries the stream of ``totals``, whose events were all accepted. Lost and unexpected ones are found per key."""

    def __init__(self, api: HttpApi, totals: Totals, **options: Any) -> None:
        super().__init__(api, **options)
        self._totals = totals
        self._path = f"/streams/{totals.stream.name}"
        self._key = to_camel(totals.stream.key)
        self._by_key, self._by_user = totals.by(totals.stream.key), totals.by(totals.stream.user)

    def run_counts(self) -> Findings:
        """Run the queries about counts, whose answers have what was stored 10 s before."""
        asked = [(self._key, self._by_key), *([(USER, self._by_user)] if self._by_user else [])]
        questions = [partial(self._top, by, mine) for by, mine in asked]
        questions += [partial(self._counts, *each) for each in self._by_key.items()]
        self._ask(questions)
        return self.findings

    def run_histories(self) -> Findings:
        """Read the pages of keys, of users and of all, which finds lost and unexpected events."""
        users = sorted(self._by_user)
        sample = random.Random(len(users)).sample(users, min(SAMPLED, len(users)))
        questions = [partial(self._of_key, *each) for each in self._by_key.items()]
        self._ask([self._of_all, *questions, *(partial(self._of_user, user) for user in sample)])
        return self.findings

    def _of_key(self, key: str, events: Sequence[Made]) -> None:
        found = self._items(f"{self._path}/events", **{self._key: key})
        self._check_whole("events of a key", key, found, [each.item for each in events])

    def _of_user(self, user: str) -> None:
        expected = [each.item for each in self._by_user[user]]
        found = self._items(f"{self._path}/users/{quote(user, safe='')}/events")
        self.findings.check("events of a user", user, found, expected)

    def _of_all(self) -> None:
        """The ids of all events; other runs may have sent some of the same time."""
        found = self._items(f"{self._path}/events", **self._totals.window)
        ids = [each[ID_FIELD] for each in found if each[self._key] in self._by_key]
        expected = [each.event_id for each in sorted(self._totals.events, reverse=True)]
        self.findings.check("events of all keys", "", ids, expected)

    def _top(self, by: str, mine: Mapping[str, Any]) -> None:
        """The values of this run; other runs may send at the same time."""
        expected = self._totals.top(by)

        def ask() -> list[dict[str, Any]]:
            return [each for each in self._get("/top", by=by, top=MOST)["items"] if each[by] in mine]

        self.findings.check("top", by, settled(ask, expected, self._patience), expected)

    def _counts(self, key: str, events: Sequence[Made]) -> None:
        """The window, the minutes, and the users of one key."""
        totals, of_key = Totals(self._totals.stream, events), {self._key: key}
        whole, points = totals.whole(), totals.points(self._totals.window)

        def ask() -> tuple[Any, Any]:
            window, series = self._get("/window", **of_key, top=MOST), self._get("/series", **of_key, step="60")
            return {name: window.get(name) for name in whole}, series["points"]

        self.findings.check("counts of a key", key, settled(ask, (whole, points), self._patience), (whole, points))
        if self._by_user:
            users = self._get("/active-users", **of_key)["uniqueUsers"]
            self.findings.check("users of a key", key, users, whole["uniqueUsers"])

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        return self._api.get(f"{self._path}{path}", {**self._totals.window, **query})
