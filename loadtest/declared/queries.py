"""Runs every query of a declared stream and compares each answer with the events that were sent."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from pydantic.alias_generators import to_camel

from headrace.features.declared.stream import ID_FIELD, USER
from loadtest.checker.findings import Findings, settled
from loadtest.declared.events import Made, Totals
from loadtest.sending.queries import Queries
from localstage.client.http_api import HttpApi

CLIENTS = 8
SAMPLED_USERS = 300
MOST = "10000"


class DeclaredQueries(Queries):
    """Queries the stream of ``totals``, whose events were all accepted. Lost and unexpected ones are found per key."""

    def __init__(self, api: HttpApi, totals: Totals, **options: Any) -> None:
        super().__init__(api, **options)
        self._totals = totals
        self._path = f"/streams/{totals.stream.name}"
        self._key = to_camel(totals.stream.key)
        users = sorted(totals.by_user)
        self._users = random.Random(len(users)).sample(users, min(SAMPLED_USERS, len(users)))

    def run_counts(self) -> Findings:
        """Run the queries about counts, whose answers have what was stored 10 s before."""
        questions = [partial(self._top, self._key, set(self._totals.by_key))]
        if self._users:
            questions.append(partial(self._top, USER, set(self._totals.by_user)))
        self._ask([*questions, *(partial(self._counts, *each) for each in self._totals.by_key.items())], CLIENTS)
        return self.findings

    def run_histories(self) -> Findings:
        """Read the pages of keys, of users and of all, which finds lost and unexpected events."""
        queries = [partial(self._of_key, key, events) for key, events in self._totals.by_key.items()]
        queries += [partial(self._of_user, user) for user in self._users]
        self._ask([self._of_all, *queries], CLIENTS)
        return self.findings

    def _of_key(self, key: str, events: Sequence[Made]) -> None:
        found, expected = self._walk("/events", **{self._key: key}), [each.item for each in events]
        self.findings.check("events of a key", key, found, expected)
        self.findings.account(_counted(found), _counted(expected))

    def _of_user(self, user: str) -> None:
        expected = [each.item for each in self._totals.by_user[user]]
        self.findings.check("events of a user", user, self._walk(f"/users/{quote(user, safe='')}/events"), expected)

    def _of_all(self) -> None:
        """The ids of all events; other runs may have sent some of the same time."""
        found = self._walk("/events", **self._totals.window)
        ids = [each[ID_FIELD] for each in found if each[self._key] in self._totals.by_key]
        expected = [each.event_id for each in sorted(self._totals.events, reverse=True)]
        self.findings.check("events of all keys", "", ids, expected)

    def _walk(self, path: str, **query: str) -> list[dict[str, Any]]:
        pages = self._api.walk(self._path + path, limit=200, **query)
        return [{name: value for name, value in item.items() if name != "key"} for page in pages for item in page]

    def _top(self, by: str, mine: set[str]) -> None:
        """The values of this run; other runs may send at the same time."""
        expected = [each for each in self._totals.top(self._field(by), by) if each[by] in mine]

        def ask() -> list[dict[str, Any]]:
            answer = self._get("/top", {"by": by, "top": MOST})
            return [each for each in answer["items"] if each[by] in mine]

        self.findings.check("top", by, settled(ask, expected, self._patience), expected)

    def _field(self, by: str) -> str:
        return to_camel(self._totals.stream.user) if by == USER else by

    def _counts(self, key: str, events: Sequence[Made]) -> None:
        """The window, the minutes, and the users of one key."""
        totals, of_key = Totals(self._totals.stream, events), {self._key: key}
        whole, points = totals.whole(), totals.points(self._totals.window)

        def ask() -> tuple[Any, Any]:
            window = self._get("/window", {**of_key, "top": MOST})
            series = self._get("/series", {**of_key, "step": "60"})
            return {name: window.get(name) for name in whole}, series["points"]

        self.findings.check("counts of a key", key, settled(ask, (whole, points), self._patience), (whole, points))
        if self._users:
            users = self._get("/active-users", of_key)["uniqueUsers"]
            self.findings.check("users of a key", key, users, whole["uniqueUsers"])

    def _get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        return self._api.get(self._path + path, {**self._totals.window, **query})


def _counted(items: Sequence[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(sorted(item.items())) for item in items)
