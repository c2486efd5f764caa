"""Builds what read_status needs, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from headrace.api import responses
from headrace.api.auth import caller_from_http
from headrace.core.caller import OPS
from headrace.core.errors import HeadraceError
from headrace.core.times import SystemClock
from headrace.operations.breaker_status import read_breaker_status
from headrace.operations.status import Status, StatusProbes
from headrace.probing import probe_reader
from headrace.queues import names
from headrace.queues.rabbitmq.depths import queue_depths
from headrace.queues.sqs.retry_queue import queue_counts
from headrace.runtime.aws import client
from headrace.runtime.observability import report, report_unexpected
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import StatusSettings

CALL_SECONDS = 1.0
"""For one call to AWS or one connection to the broker: less than what a whole answer may take."""


@functools.cache
def status() -> Status:
    """The status of the parts that the settings name."""
    settings = StatusSettings.read()
    secrets = ManagedSecrets(lambda: client("secretsmanager", timeout=CALL_SECONDS, attempts=1))
    sqs = client("sqs", timeout=CALL_SECONDS, attempts=1)
    queues = names.persist_queues(settings.persist_queues)
    probes = probe_reader()
    readers = ThreadPoolExecutor(len(queues), "probes")
    return Status(
        StatusProbes(
            queues=lambda: queue_depths(settings, secrets, [*queues, names.PARKED_QUEUE], CALL_SECONDS),
            retry=lambda: queue_counts(sqs, settings.retry_queue_url),
            dead=lambda: queue_counts(sqs, settings.dead_letter_queue_url),
            breakers=read_breaker_status,
            probes=lambda: dict(zip(queues, readers.map(probes.newest, queues), strict=True)),
        ),
        SystemClock(),
    )


def answer_status(event: Mapping[str, Any]) -> dict[str, Any]:
    """The HTTP answer to ``GET /status``."""
    try:
        caller = caller_from_http(event, StatusSettings.read().scope_prefix)
        caller.require(OPS, now=SystemClock().now())
        return responses.http(200, status().body())
    except HeadraceError as error:
        answer = responses.http_error(error)
        if answer["statusCode"] >= 500:
            report(type(error).__name__, f"the status could not be told: {error.message}", level="error")
        return answer
    except Exception as error:  # noqa: BLE001 - reported, and answered as an error
        report_unexpected(error)
        return responses.http_error(error)
