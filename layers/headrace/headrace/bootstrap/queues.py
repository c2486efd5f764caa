"""Builds the operators' services for the broker: the parking queue, probes, the topology."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.bootstrap.shared import clock, impatient, retry_lane, secrets
from headrace.operations.topology import Topology
from headrace.queues import names
from headrace.queues.rabbitmq.parked import ParkingQueue
from headrace.queues.rabbitmq.publisher import RabbitPublisher
from headrace.queues.rabbitmq.topology import declare
from headrace.queues.rabbitmq.users import ensure_users
from headrace.runtime.settings import (
    BrokerSettings,
    BrokerUsersSettings,
    table_settings,
)

if TYPE_CHECKING:
    from headrace.operations.probes import Prober, ProbeReader


@functools.cache
def parking_queue() -> ParkingQueue:
    """The broker's parking queue."""
    return ParkingQueue(BrokerSettings.read(), secrets(), retry_lane())


@functools.cache
def probe_reader() -> ProbeReader:
    """Reads the probes that were stored; a read gives up after a second."""
    # Imported here: streams take 10 ms of CPU, which declare_topology and return_parked do not need.
    from headrace.operations.probes import ProbeReader
    from headrace.storage.dynamodb.readers import DynamoReader
    from headrace.streams.probe import PROBE

    return ProbeReader(DynamoReader(impatient("dynamodb")), table_settings(PROBE).table)


@functools.cache
def prober() -> Prober:
    """Sends and checks probes. Its publisher has no breaker: probes are sent to a failing broker too."""
    from headrace.operations.probes import Prober

    settings = BrokerSettings.read()
    publisher = RabbitPublisher(settings, secrets())
    return Prober(publisher, probe_reader(), names.persist_queues(settings.persist_queues), clock())


def topology() -> Topology:
    """The broker's exchanges, queues and users. A setting that is missing fails what needs it."""
    return Topology(
        lambda seconds: declare(BrokerSettings.read(), secrets(), seconds=seconds),
        lambda seconds: ensure_users(BrokerUsersSettings.read(), secrets(), seconds=seconds),
    )
