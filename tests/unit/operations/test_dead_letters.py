"""Dead letters are listed, redriven and discarded, also when a command stops or two of them race."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api.router import HttpRouter
from headrace.core import times
from headrace.core.envelope import Envelope
from headrace.operations.dead_letter import REASONS, Filter
from headrace.operations.dead_letters import SCAN_HOLD, DeadLetters
from headrace.queues.ports import RetryRecord
from headrace.runtime.observability import Meter
from tests.fakes.queues import MemoryDeadLane
from tests.unit.persist.test_persister import POISON, envelope, event
from tests.worlds.functions import routes_of
from tests.worlds.operators import operator_event
from tests.worlds.senders import CLOCK, NOW, TABLE
from tests.worlds.write_path import WritePath, received_event

LIST = "GET /dead-letters"
REDRIVE = "POST /dead-letters/redrive"
DISCARD = "POST /dead-letters/discard"
ROUTES = routes_of("manage_dead_letters")


class Dead(WritePath):
    """All three lanes, and a clock that advances only in ``sleep``."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.lane = MemoryDeadLane(self.retry.dead)
        self.letters = DeadLetters(
            self.lane, self.retry, {"chat": TABLE, "probe": TABLE}, CLOCK, lambda: self.now, self.sleep
        )
        self.router = HttpRouter(ROUTES, lambda: self.letters, CLOCK)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def die(self, *bodies: bytes | str) -> None:
        """Let records go from the main lane through the retry lane to the dead lane."""
        self.persist(*bodies)
        self.retry_until_settled()

    def bury(self, record: RetryRecord) -> None:
        """Put a record directly into the dead lane."""
        message = self.retry.queue.send(record)
        self.retry.queue.messages.remove(message)
        self.retry.dead.put(message)

    def retry_until_settled(self) -> None:
        while messages := self.retry.receive():
            answer = self.persister.retry_lane(received_event(messages))
            failed = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
            self.retry.delete([each.receipt for each in messages if each.id not in failed])

    def call(self, route: str, body: Any = None, scope: str = "ops", **query: str) -> tuple[int, Any]:
        event = operator_event(route, json.dumps(body), scope=scope)
        answer = self.router({**event, "queryStringParameters": query or None})
        return answer["statusCode"], json.loads(answer["body"])

    def list(self, **query: str) -> Any:
        status, answer = self.call(LIST, **query)
        assert status == 200, answer
        return answer


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


def test_listing_letters_changes_and_hides_none(dead: Dead) -> None:
    """Fault 4: a dead-letter queue that is drained by looking at it."""
    dead.die(*POISON.values())

    first = dead.list()
    again = dead.list()

    assert [item["id"] for item in first["items"]] == [item["id"] for item in again["items"]]
    assert len(dead.retry.dead.visible()) == len(POISON)


def test_an_interrupted_scan_hides_letters_for_some_seconds_only(dead: Dead) -> None:
    dead.die(POISON["not_json"])
    dead.lane.receive(SCAN_HOLD)

    CLOCK.advance(SCAN_HOLD)
    try:
        assert len(dead.retry.dead.visible()) == 1
    finally:
        CLOCK.advance(-SCAN_HOLD)


def test_a_record_that_validates_now_is_listed_as_storable(dead: Dead) -> None:
    dead.bury(RetryRecord(envelope(event("1"), event("2"))))

    (item,) = dead.list()["items"]

    assert (item["reason"], item["message"]) == ("storable", "it would be stored now")
    assert (item["stream"], item["events"], item["correlationId"]) == ("chat", 2, "c-1")


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


def test_a_letter_requested_by_its_id_is_shown_completely(dead: Dead) -> None:
    dead.die(POISON["item_too_large"])

    (short,) = dead.list(bodies="true")["items"]
    (whole,) = dead.list(bodies="true", id=short["id"])["items"]

    assert len(short["body"]) == 2000
    assert len(whole["body"]) == whole["bodyCharacters"] > 400_000


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"reason": "bad luck"}, "reason"),
        ({"stream": "chess"}, "stream"),
        ({"from": "yesterday"}, "from"),
        ({"limit": "0"}, "limit"),
        ({"colour": "red"}, "colour"),
        ({"id": ""}, "id"),
        ({"limit": "201"}, "limit"),
    ],
)
def test_a_wrong_parameter_is_named(dead: Dead, query: dict[str, str], field: str) -> None:
    status, answer = dead.call(LIST, **query)

    assert status == 400
    assert [detail["field"] for detail in answer["error"]["details"]] == [field]
    assert answer["error"]["details"][0]["allowed"]


def test_only_operators_may_list_redrive_and_discard(dead: Dead) -> None:
    """P12."""
    for route in ROUTES:
        assert dead.call(route, {}, scope="chat:read events:write")[0] == 403


def test_a_redrive_stores_valid_letters_and_the_others_die_again(dead: Dead) -> None:
    """The rest keeps the time of its first death."""
    dead.bury(RetryRecord(envelope(event("1")), {"firstFailedAt": "2025-01-01T00:00:00.000000Z"}))
    dead.die(POISON["not_json"], POISON["not_base64"])
    CLOCK.advance(60)
    try:
        status, answer = dead.call(REDRIVE, {})
        dead.retry_until_settled()
        items = dead.list()["items"]
    finally:
        CLOCK.advance(-60)

    assert (status, answer["moved"], answer["failed"], answer["done"], answer["continuation"]) == (
        200,
        3,
        0,
        True,
        None,
    )
    assert [row["messageId"] for row in dead.rows()] == ["1"]
    assert sorted((item["reason"], item["attempts"], item["firstFailedAt"]) for item in items) == [
        ("not_base64", 11, NOW),
        ("not_json", 11, NOW),
    ]


def test_a_dry_run_moves_and_discards_nothing(dead: Dead) -> None:
    dead.die(*POISON.values())

    for route in (REDRIVE, DISCARD):
        status, answer = dead.call(route, {"dryRun": True, "stream": "chat"})
        assert (status, answer["count"], answer["dryRun"]) == (200, 6, True)

    assert len(dead.retry.dead.visible()) == len(POISON)
    assert dead.retry.records == []


def test_a_redrive_killed_between_send_and_delete_stores_once(dead: Dead) -> None:
    """P11, P3."""
    for number in range(15):
        dead.bury(RetryRecord(envelope(event(str(number)))))
    dead.lane.undeletable = True
    dead.call(REDRIVE, {})
    dead.lane.undeletable = False

    status, answer = dead.call(REDRIVE, {})
    dead.retry_until_settled()

    assert (status, answer["moved"]) == (200, 15)
    assert sorted(int(row["messageId"]) for row in dead.rows()) == list(range(15))
    assert dead.retry.dead.messages == []


def test_a_redrive_continues_after_each_slice_at_its_rate(dead: Dead) -> None:
    for number in range(100):
        dead.bury(RetryRecord(envelope(event(str(number)))))

    _, first = dead.call(REDRIVE, {"rate": 4})
    moved, slices, body = first["moved"], 1, first
    while body["continuation"]:
        _, body = dead.call(REDRIVE, {"continuation": body["continuation"]})
        slices += 1

    assert moved == 60, "15 seconds of a slice at 4 a second"
    assert (body["moved"], body["done"], slices) == (100, True, 2)
    assert dead.now >= 100 / 4 * 0.9


def test_a_redrive_ends_although_letters_die_during_it(dead: Dead) -> None:
    """P11."""
    dead.die(*POISON.values())
    delete = dead.lane.delete
    seconds = 0

    def delete_and_die(held: Any) -> Any:
        nonlocal seconds
        gone = delete(held)
        CLOCK.advance(1)
        seconds += 1
        dead.retry_until_settled()
        dead.die(POISON["empty_key"])
        return gone

    dead.lane.delete = delete_and_die  # type: ignore[method-assign]
    try:
        _, answer = dead.call(REDRIVE, {"stream": "chat"})
        left = dead.list(stream="chat")["count"]
    finally:
        CLOCK.advance(-seconds)

    assert (answer["moved"], answer["done"]) == (6, True)
    assert left == 6 + seconds


def test_a_redrive_ends_although_a_new_letter_arrives_at_every_scan(dead: Dead) -> None:
    """P11."""
    dead.die(*POISON.values())
    receive = dead.lane.receive

    def die_and_receive(hold: int) -> Any:
        dead.sleep(0.1)
        CLOCK.advance(1)
        dead.bury(RetryRecord(POISON["empty_key"]))
        CLOCK.advance(-1)
        return receive(hold)

    dead.lane.receive = die_and_receive  # type: ignore[method-assign]

    _, answer = dead.call(REDRIVE, {})
    slices = 1
    while answer["continuation"]:
        _, answer = dead.call(REDRIVE, {"continuation": answer["continuation"]})
        slices += 1

    assert (answer["moved"], answer["done"], slices) == (len(POISON), True, 3)


def test_letters_that_the_retry_lane_refuses_stay_dead(dead: Dead) -> None:
    dead.die(POISON["not_json"], POISON["empty_key"])
    dead.retry.refuse_next(1)

    _, answer = dead.call(REDRIVE, {})

    assert (answer["moved"], answer["failed"], answer["done"]) == (1, 1, True)
    assert len(dead.retry.dead.visible()) == 1


@pytest.mark.parametrize("confirm", [None, 0, 5, 7])
def test_a_discard_with_another_count_is_refused_and_names_it(dead: Dead, confirm: int | None) -> None:
    dead.die(*POISON.values())

    status, answer = dead.call(DISCARD, {"stream": "chat", "confirm": confirm})

    assert status == 400
    assert answer["error"]["message"] == "6 letters would be discarded; confirm must be 6"
    (detail,) = answer["error"]["details"]
    assert (detail["field"], detail["message"], detail.get("got")) == ("confirm", "must be 6", confirm)
    assert len(dead.retry.dead.visible()) == len(POISON)


def test_a_confirmed_discard_deletes_only_the_counted_letters(dead: Dead) -> None:
    dead.die(*POISON.values())
    meter = Meter()

    look, gone = dead.letters.discard(Filter(stream="chat"), 500, 6, meter)

    assert (len(look.letters), gone) == (6, 6)
    assert {item["stream"] for item in dead.list()["items"]} == {"unknown"}
    assert len(dead.retry.dead.visible()) == len(POISON) - 6
    assert meter.total("Discarded") == 6


@pytest.mark.parametrize("given", ["x", "", 5, "e30=", {"a": 1}])
def test_an_invalid_continuation_is_refused(dead: Dead, given: object) -> None:
    status, answer = dead.call(REDRIVE, {"continuation": given})

    assert (status, answer["error"]["details"][0]["field"]) == (400, "continuation")


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
