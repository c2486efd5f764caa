"""Lambda's mappings of RabbitMQ queues, which the emulator does not run: triggers of the local stage read for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from localstage.core.invoker import Invocation
from localstage.core.model import RabbitMqMapping
from localstage.triggers import RabbitMqTrigger
from rehearsal.cloud import Account
from rehearsal.machines import Machines


class _Functions:
    """The functions of an account, by their names."""

    def __init__(self, account: Account) -> None:
        self._account = account

    async def invoke(self, function_id: str, event: bytes, **_: str | None) -> Invocation:
        payload, error = await asyncio.to_thread(self._account.result, function_id, event)
        return Invocation(payload, error)


@asynccontextmanager
async def reading(account: Account, machines: Machines, stack: str) -> AsyncIterator[None]:
    """Feed the queues of a stack's broker to the functions of its mappings, with the user and size of each mapping."""
    url, mappings = machines.broker(f"{stack}-broker")
    triggers = []
    for queue, found in mappings.items():
        access = {one["Type"]: one["URI"] for one in found["SourceAccessConfigurations"]}
        login = await asyncio.to_thread(account.secret, access["BASIC_AUTH"])
        mapping = RabbitMqMapping(
            id=queue,
            function_id=found["FunctionName"],
            broker_id=found["EventSourceArn"],
            secret_id=access["BASIC_AUTH"],
            queue=queue,
            vhost=access["VIRTUAL_HOST"],
            batch_size=int(found["BatchSize"]),
            window=found.get("MaximumBatchingWindowInSeconds"),
        )
        trigger = RabbitMqTrigger(mapping, _Functions(account), broker_url=url, broker_arn=mapping.broker_id, **login)
        triggers.append(trigger)
    await asyncio.gather(*(trigger.start() for trigger in triggers))
    try:
        yield
    finally:
        await asyncio.gather(*(trigger.stop() for trigger in triggers))
