"""Clients that post until they are answered, against an API that plays a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loadtest.sending.http_sender import ATTEMPTS, Account, Parcel, Poster
from localstage.client.errors import HttpError

LATER = {"error": {"code": "throttled", "message": "", "retryAfter": 1}}
NEVER = {"error": {"code": "invalid_event", "message": ""}}
TAKEN = {"lane": "main"}


class Script:
    """Answers one after the other; keeps what was posted."""

    def __init__(self, *answers: HttpError | list[Any]) -> None:
        self._answers = list(answers)
        self.posted: list[Any] = []

    def post(self, _path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.posted.append(body["events"])
        answer = self._answers.pop(0)
        if isinstance(answer, HttpError):
            raise answer
        return {"results": answer}


def play(events: Sequence[str], *answers: HttpError | list[Any]) -> tuple[Account, Script, list[float]]:
    account, script, pauses = Account(), Script(*answers), list[float]()
    poster = Poster(script, account, pause=pauses.append)  # type: ignore[arg-type]
    poster.post(Parcel("/batch", events, lambda left: {"events": list(left)}))
    return account, script, pauses


def test_an_answer_that_asks_to_wait_is_obeyed_and_the_events_are_sent_again() -> None:
    account, script, pauses = play(["a", "b"], HttpError(429, "throttled", "", 3.0), [TAKEN, TAKEN])

    assert script.posted == [["a", "b"]] * 2
    assert (account.accepted, account.answered, account.again) == (2, 1, 1)
    assert pauses[0] >= 3.0


def test_of_a_batch_only_what_asks_for_it_is_sent_again() -> None:
    account, script, _ = play(["a", "b", "c"], [LATER, NEVER, TAKEN], [TAKEN])

    assert script.posted == [["a", "b", "c"], ["a"]]
    assert (account.accepted, account.refused, account.lanes) == (2, 1, {"main": 2})


def test_a_request_that_is_wrong_is_not_sent_again() -> None:
    account, script, _ = play(["a"], HttpError(400, "invalid_request", ""))

    assert (len(script.posted), account.refused, account.accepted) == (1, 1, 0)


def test_whoever_never_answers_is_given_up_and_nothing_is_counted_as_accepted() -> None:
    account, script, pauses = play(["a"], *[HttpError(0, "unreachable", "")] * ATTEMPTS)

    assert (len(script.posted), account.accepted, account.refused) == (ATTEMPTS, 0, 0)
    assert max(pauses) <= 5.0


def test_what_is_sent_twice_on_purpose_is_accepted_once() -> None:
    account, script = Account(), Script([TAKEN], [TAKEN])
    poster = Poster(script, account)  # type: ignore[arg-type]
    parcel = Parcel("/batch", ["a"], lambda left: {"events": list(left)})

    poster.post(parcel)
    poster.post(parcel, repeated=True)

    assert (account.accepted, account.answered) == (1, 2)
