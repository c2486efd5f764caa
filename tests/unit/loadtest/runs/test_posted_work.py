"""Posted events are compared with the answers, as far as it is known whether they are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from loadtest.checker.findings import Findings
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs import posted_work
from loadtest.runs.place import Place
from loadtest.runs.posted_work import PostedWork, until_complete
from loadtest.sending import queries
from loadtest.shapes.shape import Phase


class Queries(queries.Queries):
    """Answers with the events that are ``stored``."""

    def __init__(self, stored: set[str], accepted: Sequence[str]) -> None:
        self._stored = stored
        self._accepted = accepted

    def run_histories(self) -> Findings:
        findings = Findings()
        findings.account(Counter(self._stored), Counter(self._accepted))
        findings.check("history", "", self._stored, set(self._accepted))
        return findings

    def run_counts(self) -> Findings:
        findings = Findings()
        findings.check("count", "", len(self._stored), len(self._accepted))
        return findings


class Api:
    def get(self, path: str) -> dict[str, Any]:
        assert path == "/status"
        empty = {"state": "empty"}
        return {"lanes": {"main": {"queues": {}}, "retry": empty, "dead": empty, "parked": {}}}

    def close(self) -> None:
        """Nothing is open."""


class Stage(Target):
    def http(self, *_: Any, **__: Any) -> Any:
        return Api()


class Event(str):
    """An event, which is its name."""

    __slots__ = ()

    def event(self) -> dict[str, Any]:
        return {"name": self}


class Work(PostedWork[Event]):
    user = "load"
    clients = 1

    def __init__(self, stored: set[str]) -> None:
        target, phase = Stage("http://127.0.0.1:1", "ws://127.0.0.1:1"), Phase("events", ())
        super().__init__(target, phase, Place("r", 0), Measurements(), None)
        self._stored = stored

    def _queries(self, api: Any) -> Queries:
        return Queries(self._stored, self.all_accepted)

    def _is_readable(self, api: Any, event: Event) -> bool:
        return True


def work(stored: str, accepted: str, unanswered: int = 0) -> Work:
    made = Work(set(stored))
    made.attempts = len(accepted) + unanswered
    made.accepted([Event(each) for each in accepted], ["main"] * len(accepted), 0.01)
    return made


def test_an_event_that_was_never_sent_is_unexpected() -> None:
    found = work(stored="abc", accepted="ab").read_back()

    assert (found.stored, found.lost, found.unexpected, len(found.wrong)) == (2, 0, 1, 2)


def test_a_stored_event_without_an_answer_is_not_unexpected() -> None:
    found = work(stored="abc", accepted="ab", unanswered=1).read_back()

    assert (found.stored, found.lost, found.unexpected, len(found.wrong)) == (2, 0, 0, 0)
    assert found.examples == {"not checked": ["answers: 1 events have no answer, and may be stored"]}


def test_an_accepted_event_is_lost_also_if_another_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posted_work, "until_complete", partial(until_complete, sleep=lambda _: None))

    assert work(stored="ac", accepted="ab", unanswered=1).read_back().lost == 1
