"""What the questions about a stream of posted events have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from loadtest.checker.findings import Findings
from localstage.client.http_api import HttpApi

Item = Mapping[str, Any]
CLIENTS = 8
"""Questions that are asked at once."""
SAMPLED = 300
"""Users or skiers for whom every question is asked."""
MOST = "10000"
"""The most values that a question about the top ones may ask for."""
PATIENCE = 60.0
"""Seconds until a count must be right: answers contain what was stored 10 or 20 s before."""


class Queries(ABC):
    """All questions about the events of a stream. ``patience``: seconds until a count is right.

    Each method raises :class:`localstage.client.errors.HttpError` if a question is not answered.
    """

    def __init__(self, api: HttpApi, *, patience: float = PATIENCE) -> None:
        self.findings = Findings()
        self._api = api
        self._patience = patience

    @abstractmethod
    def run_counts(self) -> Findings:
        """Ask the questions about counts."""

    @abstractmethod
    def run_histories(self) -> Findings:
        """Ask the questions that find lost and unexpected events."""

    def _ask(self, questions: Sequence[Callable[[], None]], clients: int = CLIENTS) -> None:
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(lambda ask: ask(), questions))

    def _items(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """All items of the pages at ``path``, without their keys."""
        pages = self._api.walk(path, **query)
        return [{name: value for name, value in item.items() if name != "key"} for page in pages for item in page]

    def _check_whole(self, query: str, subject: str, found: Sequence[Item], expected: Sequence[Item]) -> None:
        """Compare the items of a subject with those that were sent, which are in no other subject."""
        self.findings.check(query, subject, found, expected)
        counts = (Counter(tuple(sorted(each.items())) for each in items) for items in (found, expected))
        self.findings.account(*counts)
