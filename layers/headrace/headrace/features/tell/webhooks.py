"""Sends what others are told to the URL of the operator, as webhooks, from an SQS queue.

Each is sent at least once, and in no order. One that fails is tried again after growing pauses over about a day, and
goes to the dead-letter queue then. A receiver that answers nothing but failures for half a day, or says once that it is
gone, is switched off: from then on events wait in the queue until an operator switches it on again.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from pydantic import Field

from headrace.core.errors import StoreUnavailable
from headrace.core.json import encode_ascii
from headrace.core.times import SECOND, Clock
from headrace.features.tell.posts import Answer, Posts, Webhook
from headrace.features.tell.switch import Switch, SwitchState
from headrace.queues.ports import RetryRecord
from headrace.queues.sqs import RetryLane
from headrace.runtime.aws import client
from headrace.runtime.observability import Meter, correlate_batch, report
from headrace.runtime.setting_forms import KeyArn, Networks, Settings, TableName
from headrace.services.shared import clock, dynamodb, secrets

TRY_AGES = (5, 305, 2_105, 9_305, 27_305, 63_305, 99_305)
"""Seconds in the queue after which an event is tried again, with pauses of 5 s to 10 hours as Standard
Webhooks suggests. SQS hides a message for at most 12 hours."""
JITTER = 0.1
LONGEST_RETRY_AFTER = 3_600
"""How far a receiver can postpone the next try by ``Retry-After``."""
GONE = 410
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class WebhookSettings(Settings):
    """For send_webhooks."""

    webhook_url: str = Field(default="", description="an https URL without a user, or http://127.0.0.1")
    """Where webhooks are posted; empty for nowhere."""
    webhook_addresses: Networks = Field(default=(), description="a comma list of networks, such as 127.0.0.0/8")
    """Networks that webhooks may reach although they are not of the internet. Empty on AWS."""
    webhook_secret_arn: KeyArn
    """Secret that webhooks are signed with, in base64."""
    webhook_queue_url: str = Field(description="the URL of the WebhookQueue")
    """Queue of events that are sent as webhooks."""
    webhook_dead_letter_queue_url: str = Field(description="the URL of the WebhookDeadLetterQueue")
    """Queue of events whose tries are over."""
    webhooks_table: TableName
    """Table of receivers that fail, or are switched off."""
    webhook_failures: int = Field(default=20, ge=1, le=1000)
    """Failures in a row after which a receiver is switched off, if they lasted."""
    webhook_failing_seconds: int = Field(default=43_200, ge=0, le=86_400)
    """How long they must have lasted."""
    webhook_off_pause_seconds: int = Field(default=1800, ge=1, le=43_200)
    """Pause after which an event looks again whether its receiver is on."""


Failures = dict[str, list[dict[str, str]]]
"""What the mapping wants to know: the messages that SQS must keep."""


@dataclass(frozen=True)
class OffRule:
    """When a receiver is switched off: after ``failures`` in a row, if the first was ``seconds`` ago.

    Events that wait meanwhile ask again after ``pause`` seconds.
    """

    failures: int
    seconds: int
    pause: int


def webhook_of(body: str) -> Webhook:
    """The webhook of a told event: ``timestamp``, as Standard Webhooks has it, is its ``time``.

    Raises:
        ValueError, KeyError or TypeError: it is no told event.
    """
    event = dict(json.loads(body))
    if not _ID.fullmatch(event["id"]):
        raise ValueError("not an id")
    head = {"type": event.pop("type"), "timestamp": event.pop("time")}
    return Webhook(event["id"], encode_ascii({**head, **event}).encode())


def pause_after(age: float, retry_after: int = 0) -> int | None:
    """Seconds until the next try of an event of this ``age``; ``None`` after its last one."""
    later = [each for each in TRY_AGES if each > age]
    if not later:
        return None
    pause = (later[0] - age) * random.uniform(1, 1 + JITTER)  # noqa: S311
    return max(1, round(pause), min(retry_after, LONGEST_RETRY_AFTER))


class Webhooks:
    """Sends the messages of ``queue``; those that have ended go to ``dead``."""

    def __init__(
        self, posts: Posts, switch: Switch, queue: RetryLane, dead: RetryLane, rule: OffRule, clock: Clock
    ) -> None:
        self._posts = posts
        self._switch = switch
        self._queue = queue
        self._dead = dead
        self._rule = rule
        self._clock = clock

    def send(self, event: Mapping[str, Any], invocation: str) -> Failures:
        """Send a batch of SQS messages.

        Raises:
            StoreUnavailable: the switch cannot be read. Nothing was sent.
        """
        correlate_batch(set(), invocation)
        meter, records = Meter(), {each["messageId"]: each for each in event["Records"]}
        state, ended, waiting = self._switch.state(), dict[str, str](), dict[str, Webhook]()
        for id_, record in records.items():
            try:
                waiting[id_] = webhook_of(record["body"])
            except (ValueError, KeyError, TypeError):
                ended[id_] = "unreadable"
        answers: dict[str, Answer] = {}
        if waiting and not state.is_off:
            answers = dict(zip(waiting, self._posts.post(list(waiting.values())), strict=True))
            state = self._noted(state, list(answers.values()), meter)
        pauses: dict[str, int] = {}
        for id_ in waiting:
            answer = answers.get(id_, Answer(0))
            if id_ in answers and not answer.failure:
                continue
            pause = self._off_pause() if state.is_off else pause_after(self._age(records[id_]), answer.retry_after)
            if pause is None:
                ended[id_] = answer.failure
            else:
                pauses[id_] = pause
        for id_ in self._not_ended({id_: (records[id_], reason) for id_, reason in ended.items()}, meter):
            pauses[id_] = self._off_pause()
        self._queue.postpone({records[id_]["receiptHandle"]: pause for id_, pause in pauses.items()})
        meter.measure("WebhookFailingSeconds", self._failing_seconds(state), MetricUnit.Seconds)
        meter.flush()
        return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in pauses]}

    def _noted(self, state: SwitchState, answers: Sequence[Answer], meter: Meter) -> SwitchState:
        """The state of the switch after ``answers``. What is sent must not be sent again because it is not noted."""
        failed = [each for each in answers if each.failure]
        meter.count("WebhooksSent", len(answers) - len(failed))
        meter.count("WebhooksFailed", len(failed))
        for reason in {each.failure for each in failed}:
            report(f"webhook {reason}", f"webhooks are sent later: {reason}")
        now, gone = self._clock.now(), any(each.status == GONE for each in failed)
        with suppress(StoreUnavailable):
            if len(failed) < len(answers) and not gone:
                if state.failures:
                    self._switch.recovered()
                return SwitchState()
            state = self._switch.failed(len(failed), failed[-1].failure, now)
            is_long = now - state.failing_since >= self._rule.seconds * SECOND
            if not state.is_off and (gone or (state.failures >= self._rule.failures and is_long)):
                self._switch.turn_off(now)
                report("webhooks off", "the receiver of webhooks is switched off", level="error")
                return SwitchState(state.failures, state.failing_since, is_off=True)
        return state

    def _not_ended(self, ended: Mapping[str, tuple[Mapping[str, Any], str]], meter: Meter) -> list[str]:
        """Send what has ended to the dead-letter queue, with the reason; those that it did not take."""
        letters = [RetryRecord(record["body"].encode(), {"reason": reason}) for record, reason in ended.values()]
        outcomes = self._dead.send(letters) if letters else []
        refused = [id_ for id_, outcome in zip(ended, outcomes, strict=True) if outcome is not None]
        meter.count("WebhooksDead", len(letters) - len(refused))
        return refused

    def _failing_seconds(self, state: SwitchState) -> float:
        """How long there were only failures; a receiver that is switched off counts as one that failed for long."""
        since = (self._clock.now() - state.failing_since) / SECOND if state.failures else 0.0
        return max(since, float(self._rule.seconds)) if state.is_off else since

    def _age(self, record: Mapping[str, Any]) -> float:
        return max(0.0, self._clock.now() / SECOND - int(record["attributes"]["SentTimestamp"]) / 1000)

    def _off_pause(self) -> int:
        return max(1, round(self._rule.pause * random.uniform(1 - JITTER, 1)))  # noqa: S311


@functools.cache
def webhooks() -> Webhooks:
    """Sends webhooks to the URL of the settings."""
    settings, sqs = WebhookSettings.read(), client("sqs")
    url, arn = settings.webhook_url, settings.webhook_secret_arn
    return Webhooks(
        Posts(url, settings.webhook_addresses, lambda: secrets().versions(arn), clock()),
        Switch(dynamodb(), settings.webhooks_table, url),
        RetryLane(settings.webhook_queue_url, sqs),
        RetryLane(settings.webhook_dead_letter_queue_url, sqs),
        OffRule(settings.webhook_failures, settings.webhook_failing_seconds, settings.webhook_off_pause_seconds),
        clock(),
    )
