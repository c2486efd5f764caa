"""Dead letters are redriven and discarded, also when a command stops or two of them race."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.delivery.retry_schedule import RECEIVES
from headrace.features.operations.dead_letter import Filter, examine
from headrace.queues.dead_lane import ReceivedLetter
from headrace.queues.ports import RetryRecord
from headrace.runtime.observability import Meter
from tests.unit.delivery.test_persister import POISON, envelope, event
from tests.unit.delivery.test_throttling import envelope as throttled
from tests.worlds.dead_letters import DISCARD, REDRIVE, Dead
from tests.worlds.senders import CLOCK, NOW, TABLE


@pytest.fixture
def dead() -> Dead:
    return Dead()


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
    assert sum(sum(line.metrics.get("Discarded", [])) for line in meter.lines.values()) == 6


@pytest.mark.parametrize("given", ["x", "", 5, "e30=", {"a": 1}])
def test_an_invalid_continuation_is_refused(dead: Dead, given: object) -> None:
    status, answer = dead.call(REDRIVE, {"continuation": given})

    assert (status, answer["error"]["details"][0]["field"]) == (400, "continuation")


def test_nothing_is_discarded_while_others_hold_letters_that_may_match(dead: Dead) -> None:
    dead.die(POISON["not_json"], POISON["newer_version"])
    held, free = dead.lane.receive(60)
    dead.lane.release([free])

    status, answer = dead.call(DISCARD, {"confirm": 1})

    assert (status, answer["error"]["code"]) == (503, "unavailable")
    dead.lane.release([held])
    assert dead.call(DISCARD, {"confirm": 2})[1]["discarded"] == 2


def test_a_redrive_begins_a_new_day_of_waiting() -> None:
    attributes = {"reason": "StoreThrottled", "attempts": "9", "throttledSince": NOW, "firstFailedAt": NOW}
    letter = ReceivedLetter("id", "receipt", throttled("1").decode(), attributes, 0, RECEIVES)

    record = examine(letter, {"chat": TABLE}).retry_record(NOW)

    assert "throttledSince" not in record.attributes
    assert record.attributes["attempts"] == "14"
