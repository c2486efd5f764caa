"""An operator's queue that a stage tells what it stores."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from faults.harness.outages import outage
from faults.harness.services import ProxiedServices
from faults.proxies.http_proxy import Call, Down, Forward
from localstage.core.model import ACCOUNT

QUEUE = "told"
TARGET = {"TellTarget": f"arn:aws:sqs:us-east-1:{ACCOUNT}:{QUEUE}"}
"""The parameter of a stage that tells the queue."""


def make_queue(services: ProxiedServices) -> None:
    """Make the queue."""
    with closing(services.sqs_client()) as sqs:
        sqs.create_queue(QueueName=QUEUE)


@outage
def target_away(services: ProxiedServices) -> Iterator[None]:
    """Every connection that sends to the queue is cut."""

    async def cut(call: Call, forward: Forward) -> Any:
        if call.action == "SendMessageBatch" and json.loads(call.body)["QueueUrl"].endswith(f"/{QUEUE}"):
            raise Down
        return await forward(call.body)

    services.sqs.fault = cut
    yield
    services.sqs.fault = None


def delays(stored: Mapping[str, float], told: Mapping[str, float], began: float, ended: float) -> list[float]:
    """How long after storing each message that was stored in this time was told; in order of length."""
    return sorted(told[each] - at for each, at in stored.items() if each in told and began <= at < ended)


def percentile(values: list[float], share: float) -> float:
    """The value that so large a share is not above; not a number if there are none."""
    return values[max(0, math.ceil(share * len(values)) - 1)] if values else math.nan
