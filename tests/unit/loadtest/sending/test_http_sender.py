"""The HTTP sender against an API that returns scripted answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from loadtest.sending.http_sender import ATTEMPTS, HttpSender, PostRequest, SendStatistics
from localstage.client.errors import HttpError

LATER = {"error": {"code": "throttled", "message": "", "retryAfter": 1}}
NEVER = {"error": {"code": "invalid_event", "message": ""}}
TAKEN = {"lane": "main"}


class Script:
    """Returns ``answers`` one after the other; records what was posted."""

    def __init__(self, *answers: HttpError | list[Any]) -> None:
        self._answers = list(answers)
        self.posted: list[Any] = []

    def post(self, _path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.posted.append(body["events"])
        answer = self._answers.pop(0)
        if isinstance(answer, HttpError):
            raise answer
        return {"results": answer}


def play(events: Sequence[str], *answers: HttpError | list[Any]) -> tuple[SendStatistics, Script, list[float]]:
    statistics, script, pauses = SendStatistics(), Script(*answers), list[float]()
    sender = HttpSender(script, statistics, pause=pauses.append)  # type: ignore[arg-type]
    sender.send(PostRequest("/batch", events, lambda left: {"events": list(left)}))
    return statistics, script, pauses


def test_a_retry_waits_at_least_as_long_as_retry_after() -> None:
    statistics, script, pauses = play(["a", "b"], HttpError(429, "throttled", "", 3.0), [TAKEN, TAKEN])

    assert script.posted == [["a", "b"]] * 2
    assert (statistics.accepted, statistics.answered, statistics.retried) == (2, 1, 1)
    assert pauses[0] >= 3.0


def test_only_temporarily_refused_events_of_a_batch_are_sent_again() -> None:
    statistics, script, _ = play(["a", "b", "c"], [LATER, NEVER, TAKEN], [TAKEN])

    assert script.posted == [["a", "b", "c"], ["a"]]
    assert (statistics.accepted, statistics.refused, statistics.lanes) == (2, 1, {"main": 2})


def test_an_invalid_request_is_not_sent_again() -> None:
    statistics, script, _ = play(["a"], HttpError(400, "invalid_request", ""))

    assert (len(script.posted), statistics.refused, statistics.accepted) == (1, 1, 0)


@pytest.mark.parametrize(("status", "refused"), [(401, True), (403, False)])
def test_a_refused_token_is_told_from_a_refused_event(status: int, refused: bool) -> None:
    sender = HttpSender(Script(HttpError(status, "refused", "")), SendStatistics())  # type: ignore[arg-type]

    assert not sender.send(PostRequest("/batch", ["a"], lambda left: {"events": list(left)}))
    assert sender.is_unauthorized is refused


def test_a_request_without_an_answer_is_given_up_after_all_attempts() -> None:
    statistics, script, pauses = play(["a"], *[HttpError(0, "unreachable", "")] * ATTEMPTS)

    assert (len(script.posted), statistics.accepted, statistics.refused) == (ATTEMPTS, 0, 0)
    assert max(pauses) <= 5.0


def test_events_repeated_on_purpose_count_once() -> None:
    statistics, script = SendStatistics(), Script([TAKEN], [TAKEN])
    sender = HttpSender(script, statistics)  # type: ignore[arg-type]
    request = PostRequest("/batch", ["a"], lambda left: {"events": list(left)})

    sender.send(request)
    sender.send(request, repeated=True)

    assert (statistics.accepted, statistics.answered) == (1, 2)
