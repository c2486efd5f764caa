"""Dead letters are listed with their reasons, and listing changes none of them."""

from __future__ import annotations

import json

import pytest

from headrace.core import times
from headrace.core.envelope import Envelope
from headrace.features.operations.dead_letter import REASONS
from headrace.features.operations.dead_letters import SCAN_HOLD
from headrace.queues.ports import RetryRecord
from tests.unit.delivery.test_persister import POISON
from tests.unit.template_stack import ROOT
from tests.worlds.dead_letters import ROUTES, Dead
from tests.worlds.reference import violations
from tests.worlds.senders import CLOCK, NOW

OPENAPI = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text())


@pytest.fixture
def dead() -> Dead:
    return Dead()


def test_every_kind_of_poison_is_shown_with_its_own_reason_and_its_first_time(dead: Dead) -> None:
    dead.die(*POISON.values())

    answer = dead.list()

    assert sorted(item["reason"] for item in answer["items"]) == sorted(POISON)
    assert answer["count"] == answer["scanned"] == len(POISON)
    assert answer["complete"] is True
    assert answer["reasons"] == dict.fromkeys(POISON, 1) | answer["reasons"]
    assert {(item["lane"], item["attempts"], item["firstFailedAt"]) for item in answer["items"]} == {("main", 6, NOW)}
    assert {item["recordedReason"] for item in answer["items"]} == set(POISON)


def test_a_list_says_that_letters_are_missing_while_others_hold_them(dead: Dead) -> None:
    dead.die(*POISON.values())
    held = dead.lane.receive(SCAN_HOLD)

    answer = dead.list()
    assert (answer["complete"], answer["count"]) == (False, len(POISON) - len(held))
    dead.lane.release(held)

    answer = dead.list()
    assert (answer["complete"], answer["count"]) == (True, len(POISON))


def test_what_anybody_may_have_written_into_a_letter_is_checked_before_it_is_shown(dead: Dead) -> None:
    """A page that shows it expects what the description says."""
    known = {"lane": "x" * 300, "attempts": "-1", "reason": "y" * 300, "firstFailedAt": "soon", "redrivenAt": "soon"}
    body = {"v": 1, "stream": "chat", "correlationId": 7, "acceptedAt": "yesterday", "events": [{}]}
    dead.bury(RetryRecord(json.dumps(body).encode(), known))

    (item,) = dead.list()["items"]

    assert not {"acceptedAt", "redrivenAt", "correlationId"} & item.keys()
    assert (item["lane"], item["recordedReason"]) == ("x" * 64, "y" * 64)
    assert times.is_canonical(item["firstFailedAt"])
    assert violations(OPENAPI, {"$ref": "#/components/schemas/DeadLetterBody"}, item) == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"reason": "not_json"}, 1),
        ({"reason": "storable"}, 0),
        ({"stream": "chat"}, 6),
        ({"stream": "unknown"}, 6),
        ({"from": NOW}, 12),
        ({"to": NOW}, 0),
        ({"from": NOW, "to": times.iso(times.micros_of(NOW) + 1), "stream": "chat", "reason": "empty_key"}, 1),
    ],
)
def test_letters_are_filtered_by_reason_stream_and_time(dead: Dead, query: dict[str, str], found: int) -> None:
    dead.die(*POISON.values())

    answer = dead.list(**query)

    assert (answer["count"], answer["scanned"]) == (found, len(POISON))


def test_letters_are_counted_by_day_and_reason(dead: Dead) -> None:
    dead.die(POISON["not_json"], POISON["empty_key"])
    CLOCK.advance(24 * 3600)
    try:
        dead.die(POISON["not_json"])
        answer = dead.list(limit="1")
        of_chat = dead.list(stream="chat")
    finally:
        CLOCK.advance(-24 * 3600)

    assert answer["days"] == {"2025-11-21": {"not_json": 1, "empty_key": 1}, "2025-11-22": {"not_json": 1}}
    assert of_chat["days"] == {"2025-11-21": {"empty_key": 1}}


def test_a_letter_requested_by_its_id_is_shown_completely(dead: Dead) -> None:
    dead.die(POISON["item_too_large"])

    (short,) = dead.list(bodies="true")["items"]
    (whole,) = dead.list(bodies="true", id=short["id"])["items"]

    assert len(short["body"]) == 2000
    assert len(whole["body"]) == whole["bodyCharacters"] > 400_000


def test_an_unavailable_dead_lane_is_a_503(dead: Dead) -> None:
    dead.retry.down = True

    for route in ROUTES:
        assert dead.call(route, {})[0] == 503


def test_a_letter_with_any_body_can_be_listed(dead: Dead) -> None:
    bodies = [b"", b"{}", b"\xff", b"[" * 50_000, b'{"v": 1, "stream": 5}', b'{"events": 3}', b"null"]
    for body in [*bodies, Envelope("chat", "c", NOW, [{"roomId": [[[]]]}]).encode()]:
        dead.bury(RetryRecord(body, {"attempts": "many", "firstFailedAt": "then"}))

    answer = dead.list()

    assert answer["count"] == len(bodies) + 1
    assert {item["reason"] for item in answer["items"]} <= REASONS.keys()
