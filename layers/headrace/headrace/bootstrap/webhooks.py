"""Builds what sends webhooks."""

from __future__ import annotations

import functools

from headrace.features.tell.posts import Posts
from headrace.features.tell.switch import DynamoSwitch
from headrace.features.tell.webhooks import OffRule, Webhooks
from headrace.queues.sqs import SqsRetryLane
from headrace.runtime.aws import client
from headrace.runtime.settings import WebhookSettings
from headrace.services.shared import clock, dynamodb, secrets


@functools.cache
def webhooks() -> Webhooks:
    """Sends webhooks to the URL of the settings."""
    settings, sqs = WebhookSettings.read(), client("sqs")
    url, arn = settings.webhook_url, settings.webhook_secret_arn
    return Webhooks(
        Posts(url, settings.webhook_addresses, lambda: secrets().versions(arn), clock()),
        DynamoSwitch(dynamodb(), settings.webhooks_table, url),
        SqsRetryLane(settings.webhook_queue_url, sqs),
        SqsRetryLane(settings.webhook_dead_letter_queue_url, sqs),
        OffRule(settings.webhook_failures, settings.webhook_failing_seconds, settings.webhook_off_pause_seconds),
        clock(),
    )
