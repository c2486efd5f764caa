"""P14: each event is sent as a webhook at least once, or is in the dead-letter queue of webhooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.times import HOUR, SECOND
from headrace.features.tell.posts import Answer, Webhook
from headrace.features.tell.switch import SwitchState
from headrace.features.tell.webhooks import GONE, TRY_AGES, OffRule, Webhooks, pause_after, webhook_of
from headrace.queues.ports import RetryRecord
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryRetryLane, Message
from tests.fakes.tell import MemorySwitch

START = 1_763_719_259 * SECOND
SENT = Answer(204)
BROKEN = Answer(500, "HTTP 500")


def event(id_: str) -> dict[str, Any]:
    head = {"id": id_, "type": "message.stored", "time": "2025-11-21T10:54:19.000000Z", "stage": "headrace-test"}
    return {**head, "stream": "chat", "key": "kitchen#m-1", "sequence": "12", "data": {"message": "Grüße"}}


class Stage:
    """The queue of webhooks, the function with its mapping, and a receiver that gives ``answer``."""

    def __init__(self) -> None:
        self.clock = FixedClock(START)
        self.queue = MemoryRetryLane(self.clock, receives=1000)
        self.dead = MemoryRetryLane(self.clock)
        self.switch = MemorySwitch()
        self.answer: Callable[[str], Answer] = lambda _: SENT
        self.posted: list[Webhook] = []
        rule = OffRule(failures=20, seconds=12 * 3600, pause=1800)
        self.webhooks = Webhooks(self, self.switch, self.queue, self.dead, rule, self.clock)

    def post(self, webhooks: Sequence[Webhook]) -> list[Answer]:
        self.posted += webhooks
        return [self.answer(each.id) for each in webhooks]

    def tell(self, *ids: str) -> None:
        for id_ in ids:
            self.queue.send([RetryRecord(json.dumps(event(id_)).encode())])

    def run(self) -> None:
        """Give all visible messages to the function as the mapping does, and delete what it does not name."""
        while messages := self.queue.receive():
            records = [self._record(each) for each in messages]
            failures = self.webhooks.send({"Records": records}, "i-1")["batchItemFailures"]
            kept = {each["itemIdentifier"] for each in failures}
            self.queue.delete([each.receipt for each in messages if each.id not in kept])

    def pass_time(self, seconds: float, step: int = 60) -> None:
        """Let time pass, and messages come again."""
        end = self.clock.now() + int(seconds * SECOND)
        while self.clock.now() < end:
            self.clock.advance(step)
            self.run()

    @staticmethod
    def _record(message: Message) -> dict[str, Any]:
        attributes = {"SentTimestamp": str(message.sent_at // 1000)}
        body = message.record.body.decode()
        return {"messageId": message.id, "receiptHandle": message.receipt, "body": body, "attributes": attributes}

    @property
    def sent(self) -> list[str]:
        return [each.id for each in self.posted if not self.answer(each.id).failure]


def test_a_webhook_is_the_told_event_with_its_time_as_timestamp() -> None:
    made = webhook_of(json.dumps(event("e1")))

    told = event("e1")
    assert made.id == "e1"
    assert json.loads(made.body) == {"timestamp": told.pop("time"), **told}
    assert list(json.loads(made.body))[:2] == ["type", "timestamp"]


@pytest.mark.parametrize("answer", [Answer(0, "no answer"), Answer(302, "HTTP 302"), Answer(404, "HTTP 404"), BROKEN])
def test_what_fails_is_tried_again_with_growing_pauses_for_a_day_and_is_dead_then(answer: Answer) -> None:
    stage = Stage()
    stage.answer = lambda id_: SENT if id_.startswith("other") else answer
    stage.tell("bad")
    tries: list[float] = []

    for number in range(32 * 60):
        stage.run()
        tries += [(stage.clock.now() - START) / SECOND] * sum(each.id == "bad" for each in stage.posted)
        stage.posted.clear()
        if number % 60 == 0:
            stage.tell(f"other{number}")
        stage.clock.advance(60)

    assert len(tries) == 1 + len(TRY_AGES)
    pauses = [after - before for before, after in pairwise(tries)]
    assert pauses[:-1] == sorted(pauses[:-1])
    assert 27 * 3600 < tries[-1] < 32 * 3600
    (letter,) = stage.dead.records
    assert json.loads(letter.body) == event("bad")
    assert letter.attributes == {"reason": answer.failure}
    assert stage.switch.row == SwitchState()


@given(st.floats(0, TRY_AGES[-1] - 1), st.integers(0, 999_999))
def test_a_pause_is_at_most_twelve_hours_and_skips_no_try(age: float, wanted: int) -> None:
    pause = pause_after(age, wanted)

    assert pause is not None
    assert 1 <= pause <= 12 * 3600
    assert pause >= min(wanted, 3600)
    if not wanted:
        assert age + pause > min(each for each in TRY_AGES if each > age) - 1


def test_a_receiver_that_asks_for_time_gets_it_but_not_more_than_an_hour() -> None:
    stage = Stage()
    stage.answer = lambda id_: Answer(429, "HTTP 429", 120 if id_ == "short" else 999_999)
    stage.tell("short", "long")
    stage.run()

    assert sorted(pause for _, pause in stage.queue.postponed) == [120, 3600]


def test_a_receiver_that_only_fails_for_half_a_day_is_switched_off_and_loses_nothing() -> None:
    stage = Stage()
    stage.answer = lambda _: BROKEN
    stage.tell(*(f"e{number}" for number in range(10)))
    stage.pass_time(11 * 3600)
    assert not stage.switch.row.is_off
    stage.pass_time(20 * 3600)

    assert stage.switch.row.is_off
    tried = len(stage.posted)
    stage.tell("late")
    stage.pass_time(24 * 3600, 600)
    assert len(stage.posted) == tried, "nothing is sent to a receiver that is off"
    assert len(stage.queue.records) == 11
    assert stage.dead.records == []

    stage.switch.row, stage.answer = SwitchState(), lambda _: SENT
    stage.pass_time(3600)
    assert sorted(set(stage.sent)) == sorted([*(f"e{number}" for number in range(10)), "late"])
    assert stage.queue.records == stage.dead.records == []


def test_a_receiver_that_refuses_some_events_is_not_switched_off() -> None:
    stage = Stage()
    stage.answer = lambda id_: Answer(400, "HTTP 400") if id_.startswith("bad") else SENT
    for hour in range(40):
        stage.tell(f"bad{hour}", f"good{hour}")
        stage.pass_time(3600, 600)

    assert not stage.switch.row.is_off
    assert len(stage.dead.records) > 5
    assert {f"good{hour}" for hour in range(40)} <= set(stage.sent)


def test_a_receiver_that_is_gone_is_switched_off_at_once_and_its_event_waits() -> None:
    stage = Stage()
    stage.answer = lambda id_: Answer(GONE, "HTTP 410") if id_ == "e1" else SENT
    stage.tell("e1", "e2")
    stage.run()

    assert stage.switch.row.is_off
    assert [json.loads(each.body)["id"] for each in stage.queue.records] == ["e1"]
    ((_, pause),) = stage.queue.postponed
    assert 1600 < pause <= 1800


@pytest.mark.parametrize(
    "body", ["", "no JSON", "[]", "{}", '{"id": 1}', '{"id": "a\\r\\nb: c", "type": "t", "time": "t"}', '{"id": "e1"}']
)
def test_a_message_that_is_no_event_is_dead_at_once_and_holds_up_no_other(body: str) -> None:
    stage = Stage()
    stage.queue.send([RetryRecord(body.encode())])
    stage.tell("e1")
    stage.run()

    assert stage.sent == ["e1"]
    assert [each.attributes for each in stage.dead.records] == [{"reason": "unreadable"}]
    assert stage.queue.records == []


def test_what_the_dead_letter_queue_does_not_take_stays_in_the_queue() -> None:
    stage = Stage()
    stage.queue.send([RetryRecord(b"no JSON")])
    stage.dead.down = True
    stage.run()
    assert len(stage.queue.records) == 1

    stage.dead.recover()
    stage.pass_time(1800)
    assert len(stage.dead.records) == 1
    assert stage.queue.records == []


def test_what_was_sent_is_not_sent_again_because_the_switch_cannot_be_written() -> None:
    stage = Stage()
    stage.switch.row, stage.switch.down = SwitchState(3, START - HOUR), True
    stage.answer = lambda id_: BROKEN if id_ == "e2" else SENT
    stage.tell("e1", "e2")
    stage.run()

    assert [json.loads(each.body)["id"] for each in stage.queue.records] == ["e2"]


def test_what_is_sent_fails_and_ends_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage()
    stage.answer = lambda id_: BROKEN if id_ == "e1" else SENT
    stage.queue.send([RetryRecord(b"no JSON")])
    stage.tell("e1", "e2", "e3")
    stage.run()

    out = capsys.readouterr().out.replace(" ", "")
    assert all(text in out for text in ('"WebhooksSent":[2.0]', '"WebhooksFailed":[1.0]', '"WebhooksDead":[1.0]'))


def test_a_receiver_that_is_off_counts_as_failing_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    """So the alarm is on while it is off, also if it was gone at once."""
    stage = Stage()
    stage.answer = lambda _: Answer(GONE, "HTTP 410")
    stage.tell("e1")
    stage.run()
    assert '"WebhookFailingSeconds":[43200.0]' in capsys.readouterr().out.replace(" ", "")

    stage.switch.row, stage.answer = SwitchState(), lambda _: SENT
    stage.pass_time(1800)
    assert '"WebhookFailingSeconds":[0.0]' in capsys.readouterr().out.replace(" ", "")
