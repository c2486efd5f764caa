"""The fields of requests about dead letters and of their answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.features.operations.dead_letter import Filter
from headrace.features.operations.dead_letter_routes import continuation
from headrace.features.operations.dead_letters import RedriveState
from headrace.queues.ports import RetryRecord
from headrace.runtime.observability import logger
from tests.worlds.dead_letters import DISCARD, LIST, REDRIVE, Dead
from tests.worlds.senders import NOW

BEFORE = {
    LIST: [],
    REDRIVE: ["dead letters are being redriven"],
    DISCARD: ["dead letters are being discarded"],
}
"""The lines that routes write before they change something."""


@pytest.fixture
def dead() -> Dead:
    """A dead-letter queue with one letter."""
    dead = Dead()
    dead.bury(RetryRecord(b"not json", {"reason": "not_json"}))
    return dead


def test_a_continuation_allows_no_other_field(dead: Dead) -> None:
    """A continued redrive has the filter and rate of its start; other fields would seem to change them."""
    given = continuation(RedriveState(NOW, Filter(reason="not_json"), 5))

    assert dead.call(REDRIVE, {"continuation": given})[0] == 200
    status, answer = dead.call(REDRIVE, {"continuation": given, "rate": 5})
    assert (status, answer["error"]["message"]) == (400, "continuation is not usable")


def test_a_null_continuation_does_not_start_a_new_redrive(dead: Dead) -> None:
    """A client that sends the continuation of a redrive that is done must not move all letters."""
    status, answer = dead.call(REDRIVE, {"continuation": None})

    assert (status, answer["error"]["message"]) == (400, "continuation is not usable")
    assert len(dead.retry.dead.visible()) == 1


def test_bodies_are_shown_only_on_request(dead: Dead) -> None:
    """They are messages of other people."""
    (without,) = dead.call(LIST)[1]["items"]
    (shown,) = dead.call(LIST, bodies="true")[1]["items"]

    assert ("body" in without, without["bodyCharacters"], shown["body"]) == (False, 8, "not json")


@pytest.mark.parametrize(
    ("route", "body", "query", "line"),
    [
        (LIST, None, {"bodies": "true"}, {"message": "bodies of dead letters were read", "count": 1}),
        (REDRIVE, {"reason": "not_json"}, {}, {"message": "dead letters were redriven", "moved": 1, "failed": 0}),
        (DISCARD, {"confirm": 1}, {}, {"message": "dead letters were discarded", "discarded": 1, "failed": 0}),
    ],
)
def test_what_an_operator_does_is_logged_with_who_did_it(
    dead: Dead, route: str, body: object, query: dict[str, str], line: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Before letters move, and after."""
    assert dead.call(route, body, **query)[0] == 200

    *before, last = [json.loads(logger.registered_formatter.format(record)) for record in caplog.records]
    assert {name: last[name] for name in line} == line
    assert [each["message"] for each in before] == BEFORE[route]
    for found in (*before, last):
        assert (found["kind"], found["operator"], found["level"]) == ("audit", "olga", "WARNING")
        assert found["filter"]["reason"] == (body or {}).get("reason")  # type: ignore[attr-defined]
        assert "not json" not in json.dumps(found)


@pytest.mark.parametrize(
    ("route", "body"), [(LIST, None), (REDRIVE, {"dryRun": True}), (DISCARD, {"dryRun": True}), (DISCARD, {})]
)
def test_what_reveals_and_changes_nothing_is_not_logged(
    dead: Dead, route: str, body: object, caplog: pytest.LogCaptureFixture
) -> None:
    dead.call(route, body)

    assert not caplog.records


def test_a_continued_redrive_logs_what_its_slice_moved(dead: Dead, caplog: pytest.LogCaptureFixture) -> None:
    given = continuation(RedriveState(NOW, Filter(stream="unknown"), 5, moved=7))

    assert dead.call(REDRIVE, {"continuation": given})[1]["moved"] == 8

    _, found = [json.loads(logger.registered_formatter.format(record)) for record in caplog.records]
    assert (found["moved"], found["filter"]["stream"]) == (1, "unknown")
