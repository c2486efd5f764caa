"""HTTP routes of the parking queues: their depth, and moving their messages back to a lane."""

from __future__ import annotations

import functools
from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api.params import Params
from headrace.api.router import Request
from headrace.core.fields import whole_number
from headrace.queues.brokers import each_broker
from headrace.queues.rabbitmq.parked import ParkingQueue, ParkingQueues
from headrace.runtime.observability import audit
from headrace.runtime.settings import BrokerSettings
from headrace.services.shared import retry_lane, secrets

DEFAULT_LIMIT = 100
LIMIT = 1000
DEFAULT_RATE = 10
RATE = 100
SLICE_SECONDS = 15.0


class RequeueBody(Params):
    """The lane that messages are moved to, how many at most, and how many per second."""

    unknown = "is not a field of this route"
    keeps_null = True

    lane: Literal["main", "retry"] = Field(default="main", description="main, retry")
    limit: int = whole_number(1, LIMIT, default=DEFAULT_LIMIT)
    rate: int = whole_number(1, RATE, default=DEFAULT_RATE)


class ParkedDepth(TypedDict):
    """How many messages are in the parking queue."""

    parked: int


class Requeued(TypedDict):
    """How many messages were moved, and how many are left; ``failure`` says why it stopped early."""

    returned: int
    left: int
    failure: NotRequired[str]


@functools.cache
def parking_queues() -> ParkingQueues:
    brokers = each_broker(BrokerSettings.read())
    return ParkingQueues([ParkingQueue(each, secrets(), retry_lane()) for each in brokers])


def read_depth(parking_queues: ParkingQueues, _request: Request[None, None, None]) -> ParkedDepth:
    """The depth of the parking queue."""
    return {"parked": parking_queues.depth()}


def requeue(parking_queues: ParkingQueues, request: Request[None, None, RequeueBody]) -> Requeued:
    """Move messages back to a lane, for at most one slice of time."""
    body = request.body
    audit("parked messages are being returned", request.caller, lane=body.lane, limit=body.limit)
    moved = parking_queues.requeue(body.lane, body.limit, body.rate, SLICE_SECONDS)
    request.meter.count("ParkedReturned", moved.returned, lane=body.lane)
    audit("parked messages were returned", request.caller, lane=body.lane, returned=moved.returned, left=moved.left)
    answer: Requeued = {"returned": moved.returned, "left": moved.left}
    if moved.failure:
        answer["failure"] = moved.failure
    return answer
