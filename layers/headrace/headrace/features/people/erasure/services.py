"""Builds what the routes of erasures use."""

from __future__ import annotations

import functools

from headrace.features.people.erasure.routes import ErasureServices
from headrace.features.people.erasures import DynamoErasures
from headrace.features.people.sqs import SqsTaskQueue
from headrace.runtime.aws import client
from headrace.runtime.settings import ErasureTaskSettings
from headrace.services.shared import dynamodb, person_hashes


@functools.cache
def erasures() -> ErasureServices:
    """The erasures of users."""
    settings = ErasureTaskSettings.read()
    return ErasureServices(
        DynamoErasures(dynamodb(), settings.erasures_table),
        SqsTaskQueue(settings.erasure_queue_url, client("sqs")),
        person_hashes(),
    )
