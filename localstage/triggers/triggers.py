"""All triggers of a stage: started, stopped, and replaced one by one when the template changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from localstage.core.errors import TemplateError
from localstage.core.invoker import Functions
from localstage.core.model import Broker, RabbitMqMapping, Schedule, Secret, SqsMapping, StageModel
from localstage.triggers.pacing import Status
from localstage.triggers.rabbitmq import RabbitMqTrigger
from localstage.triggers.schedules import ScheduleTrigger
from localstage.triggers.sqs import SqsTrigger
from localstage.triggers.sqs_queue import make_client, queue_arn


class _Trigger(Protocol):
    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    def status(self) -> Status: ...


@dataclass(frozen=True)
class _Planned:
    """A trigger to run. A running trigger is replaced when its ``made_of`` differs."""

    made_of: tuple[object, ...]
    make: Callable[[], _Trigger]


class Triggers:
    """Runs all mappings and schedules of a model.

    ``broker_urls`` maps broker ids to amqp(s) URLs without credentials, ``queue_urls`` queue ids to SQS URLs;
    ``sqs_endpoint`` is an emulator's URL, or ``None`` for AWS. ``sqs_credentials`` (key id, secret, session
    token) should be those that the functions get, since some emulators have an account per key; without them boto3
    looks for its own.
    """

    def __init__(
        self,
        model: StageModel,
        functions: Functions,
        *,
        broker_urls: Mapping[str, str],
        sqs_endpoint: str | None,
        queue_urls: Mapping[str, str],
        region: str = "us-east-1",
        account: str = "123456789012",
        sqs_credentials: tuple[str, str, str | None] | None = None,
    ) -> None:
        self._model = model
        self._functions = functions
        self._broker_urls = broker_urls
        self._queue_urls = queue_urls
        self._region = region
        self._account = account
        self._make_client = partial(make_client, sqs_endpoint, region, sqs_credentials)
        self._running: dict[str, tuple[tuple[object, ...], _Trigger]] = {}

    async def start(self) -> None:
        """Start every enabled trigger; returns before the sources answer.

        Raises:
            TemplateError: a mapping names an unknown broker or queue, or a schedule cannot be read.
        """
        await self._become(self._plan(self._model))

    async def stop(self) -> None:
        """Begin no further invocation, wait up to 5 s for running ones, and requeue the rest."""
        await self._become({})

    async def replace(self, model: StageModel) -> None:
        """Stop removed and changed triggers, start new ones, and keep the rest running.

        Raises:
            TemplateError: as for ``start``; then nothing is changed.
        """
        plan = self._plan(model)
        self._model = model
        await self._become(plan)

    def status(self) -> list[Status]:
        """Return what each trigger is doing, in the order of their ids."""
        return [self._running[id][1].status() for id in sorted(self._running)]

    async def _become(self, plan: Mapping[str, _Planned]) -> None:
        kept = {id for id, planned in plan.items() if id in self._running and self._running[id][0] == planned.made_of}
        old = [self._running.pop(id)[1] for id in list(self._running) if id not in kept]
        await asyncio.gather(*(trigger.stop() for trigger in old))
        new = {id: (planned.made_of, planned.make()) for id, planned in plan.items() if id not in kept}
        self._running.update(new)
        await asyncio.gather(*(trigger.start() for _, trigger in new.values()))

    def _plan(self, model: StageModel) -> dict[str, _Planned]:
        plan = dict(self._plan_mappings(model))
        for schedule in model.schedules.values():
            # Made now, so that an expression that cannot be read changes nothing.
            plan[schedule.id] = _Planned((schedule,), partial(_itself, self._schedule(schedule)))
        return plan

    def _plan_mappings(self, model: StageModel) -> Iterable[tuple[str, _Planned]]:
        for rabbitmq in model.rabbitmq_mappings.values():
            url = _source(rabbitmq.id, rabbitmq.broker_id, self._broker_urls, model.brokers)
            broker, secret = model.brokers[rabbitmq.broker_id], model.secrets[rabbitmq.secret_id]
            trigger = self._rabbitmq(rabbitmq, broker, secret, url)
            yield rabbitmq.id, _Planned((rabbitmq, broker, secret, url), partial(_itself, trigger))
        for sqs in model.sqs_mappings.values():
            url = _source(sqs.id, sqs.queue_id, self._queue_urls, model.queues)
            yield sqs.id, _Planned((sqs, url), partial(self._sqs, sqs, url))

    def _rabbitmq(self, mapping: RabbitMqMapping, broker: Broker, secret: Secret, url: str) -> _Trigger:
        try:
            login = json.loads(secret.value)
            username, password = str(login["username"]), str(login["password"])
        except (ValueError, KeyError, TypeError):
            raise TemplateError(f'{mapping.id}: {secret.id} must hold {{"username": …, "password": …}}') from None
        return RabbitMqTrigger(
            mapping, self._functions, broker_url=url, username=username, password=password, broker_arn=broker.arn
        )

    def _sqs(self, mapping: SqsMapping, url: str) -> _Trigger:
        arn = queue_arn(url, self._region)
        return SqsTrigger(mapping, self._functions, queue_url=url, queue_arn=arn, client_factory=self._make_client)

    def _schedule(self, schedule: Schedule) -> _Trigger:
        return ScheduleTrigger(schedule, self._functions, region=self._region, account=self._account)


def _itself(trigger: _Trigger) -> _Trigger:
    return trigger


def _source(id: str, source: str, urls: Mapping[str, str], declared: Mapping[str, object]) -> str:
    if source not in urls or source not in declared:
        raise TemplateError(f"{id}: {source} is not a broker or queue that this stage runs")
    return urls[source]
