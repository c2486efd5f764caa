"""Builds what send_probes needs, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from headrace.core import times
from headrace.core.times import SystemClock
from headrace.operations.probes import Prober, ProbeReader
from headrace.queues import names
from headrace.queues.rabbitmq.publisher import RabbitPublisher
from headrace.runtime.aws import client
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import BrokerSettings, table_settings
from headrace.storage.dynamodb.range_reader import DynamoReader
from headrace.streams.probe import PROBE

READ_SECONDS = 1.0


def probe_reader() -> ProbeReader:
    """Reads the probes that were stored; a read that gets no answer is given up after a second."""
    table = table_settings(PROBE).table
    return ProbeReader(DynamoReader(client("dynamodb", timeout=READ_SECONDS, attempts=1)), table)


@functools.cache
def prober() -> Prober:
    """Sends and checks probes. No breaker stands before its publisher: a probe is to find out."""
    settings = BrokerSettings.read()
    publisher = RabbitPublisher(settings, ManagedSecrets())
    return Prober(publisher, probe_reader(), names.persist_queues(settings.persist_queues), SystemClock())


def send_for(event: Mapping[str, Any], correlation_id: str) -> dict[str, Any]:
    """Run the minute of a scheduled event, or this one for whoever else invokes; says what the run saw."""
    at = event.get("time")
    now = times.parse_iso(at) if isinstance(at, str) else SystemClock().now()
    return asdict(prober().run(now, correlation_id))
