"""What the questions about a stream of posted events have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from loadtest.checker.findings import Findings
from loadtest.sending.threads import in_threads
from localstage.client.http_api import HttpApi

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

    def _ask(self, questions: Sequence[Callable[[], None]], clients: int) -> None:
        in_threads(lambda ask: ask(), questions, clients)
