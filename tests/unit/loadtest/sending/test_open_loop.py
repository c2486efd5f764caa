"""Posts in an open loop: a stall of the stage is in every answer that had to wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from loadtest.sending.http_sender import Account, Parcel
from loadtest.sending.open_loop import Due, Paced
from localstage.client.errors import HttpError


class Stalling:
    """An API on a clock of its own: the first POST takes ``stall`` seconds, any other one hundredth."""

    def __init__(self, stall: float, *, refuses: int = 0) -> None:
        self.now = 100.0
        self.posted: list[float] = []
        self._takes = stall
        self._refuses = refuses

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def post(self, _path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.posted.append(self.now)
        self.now += self._takes
        self._takes = 0.01
        if len(self.posted) <= self._refuses:
            raise HttpError(503, "unavailable", "", 1.0)
        return {"results": [{"lane": "main"} for _ in body["events"]]}


def dues(*times: float, repeated: bool = False) -> list[Due[str]]:
    return [Due(at, Parcel("/batch", ["a"], lambda left: {"events": list(left)}), repeated) for at in times]


def paced(api: Stalling, account: Account) -> Paced[str]:
    return Paced(api, account, 1, clock=api.clock, pause=api.sleep)  # type: ignore[arg-type]


def test_nothing_is_posted_before_it_is_due() -> None:
    api, account, done = Stalling(0.01), Account(), list[int]()

    paced(api, account).run(dues(0.0, 1.0, 2.0), api.now + 5, done.append)

    assert api.posted == pytest.approx([105.0, 106.0, 107.0])
    assert (account.accepted, sum(done)) == (3, 3)


def test_an_answer_counts_from_when_its_post_was_due_so_that_a_stall_is_not_hidden() -> None:
    api, account = Stalling(3.0), Account()

    paced(api, account).run(dues(0.0, 1.0, 2.0, 9.0), api.now, lambda _: None)

    assert list(account.seconds) == pytest.approx([3.0, 2.01, 1.02, 0.01])


def test_an_answer_to_what_was_sent_again_counts_from_the_first_time() -> None:
    api, account = Stalling(0.01, refuses=1), Account()

    paced(api, account).run(dues(0.0), api.now, lambda _: None)

    assert account.accepted == 1
    assert account.seconds[0] > 1.0


def test_what_is_posted_again_on_purpose_is_accepted_once() -> None:
    api, account, done = Stalling(0.01), Account(), list[int]()

    paced(api, account).run([*dues(0.0), *dues(0.1, repeated=True)], api.now, done.append)

    assert (account.accepted, account.answered, done) == (1, 2, [1])
