"""All triggers of a stage: started and stopped together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from localstage.core.invoker import Functions
from localstage.core.model import RabbitMqMapping, Schedule, SqsMapping, StageModel, StreamMapping
from localstage.triggers.consumer import Verb
from localstage.triggers.pacing import Status
from localstage.triggers.rabbitmq import RabbitMqTrigger
from localstage.triggers.schedules import ScheduleTrigger
from localstage.triggers.sqs import SqsTrigger
from localstage.triggers.sqs_queue import SqsQueue, make_client, queue_arn
from localstage.triggers.stream import Checkpoint, StreamTrigger
from localstage.triggers.table_stream import TableStream, make_stream_clients

AnyTrigger = RabbitMqTrigger | SqsTrigger | StreamTrigger | ScheduleTrigger


@dataclass(frozen=True)
class AwsAccess:
    """The URLs of SQS and DynamoDB.

    ``credentials`` (key id, secret, session token) should be those that the functions get, since some emulators have an
    account per key.
    """

    sqs_endpoint: str
    dynamodb_endpoint: str
    region: str
    credentials: tuple[str, str, str | None]


class Triggers:
    """Runs all mappings and schedules of a model.

    ``broker_urls`` maps broker ids to amqp(s) URLs without credentials, ``queue_urls`` queue ids to SQS URLs. RabbitMQ
    mappings return a failed batch with the AMQP verb ``returns_by``. How far streams were read is kept in ``folder``.
    """

    def __init__(
        self,
        model: StageModel,
        functions: Functions,
        *,
        broker_urls: Mapping[str, str],
        queue_urls: Mapping[str, str],
        access: AwsAccess,
        folder: Path,
        returns_by: Verb = "reject",
    ) -> None:
        self._model = model
        self._functions = functions
        self._broker_urls = broker_urls
        self._queue_urls = queue_urls
        self._region = access.region
        self._returns_by = returns_by
        self._folder = folder
        common = (access.region, access.credentials)
        self._make_client = partial(make_client, access.sqs_endpoint, *common)
        self._make_stream_clients = partial(make_stream_clients, access.dynamodb_endpoint, *common)
        self._running: list[AnyTrigger] = []

    async def start(self) -> None:
        """Start every trigger; returns before the sources answer.

        Raises:
            TemplateError: a schedule cannot be read.
        """
        self._running = [*map(self._rabbitmq, self._model.rabbitmq_mappings.values())]
        self._running += map(self._sqs, self._model.sqs_mappings.values())
        self._running += map(self._stream, self._model.stream_mappings.values())
        self._running += map(self._schedule, self._model.schedules.values())
        await asyncio.gather(*(trigger.start() for trigger in self._running))

    async def stop(self) -> None:
        """Begin no further invocation, wait up to 5 s for running ones, and requeue the rest."""
        await asyncio.gather(*(trigger.stop() for trigger in self._running))
        self._running = []

    def status(self) -> list[Status]:
        """Return what each trigger is doing, in the order of their ids."""
        return sorted((trigger.status() for trigger in self._running), key=lambda status: status.id)

    def _rabbitmq(self, mapping: RabbitMqMapping) -> RabbitMqTrigger:
        login = json.loads(self._model.secrets[mapping.secret_id].value)
        return RabbitMqTrigger(
            mapping,
            self._functions,
            broker_url=self._broker_urls[mapping.broker_id],
            username=login["username"],
            password=login["password"],
            broker_arn=self._model.brokers[mapping.broker_id].arn,
            returns_by=self._returns_by,
        )

    def _sqs(self, mapping: SqsMapping) -> SqsTrigger:
        url = self._queue_urls[mapping.queue_id]
        arn = queue_arn(url, self._region)
        return SqsTrigger(mapping, self._functions, queue_url=url, queue_arn=arn, client_factory=self._make_client)

    def _stream(self, mapping: StreamMapping) -> StreamTrigger:
        stream = TableStream(self._model.tables[mapping.table_id].name, self._make_stream_clients)
        failures = None
        if mapping.failure_queue_id is not None:
            failures = SqsQueue(self._queue_urls[mapping.failure_queue_id], self._make_client)
        checkpoint = Checkpoint(self._folder / f"{mapping.id}.checkpoint")
        return StreamTrigger(mapping, self._functions, stream, checkpoint, failures)

    def _schedule(self, schedule: Schedule) -> ScheduleTrigger:
        return ScheduleTrigger(schedule, self._functions, region=self._region)
