"""Builds the service that pushes to WebSocket connections."""

from __future__ import annotations

import functools

from headrace.aws.client import access_key
from headrace.aws.http_connection import Target
from headrace.bootstrap.live import connections
from headrace.bootstrap.shared import clock
from headrace.live.push.api_gateway import ApiGatewayPusher, connections_signer
from headrace.live.push.connection_pool import ConnectionPool
from headrace.live.push_service import PushService
from headrace.runtime.settings import AwsSettings, PushSettings


@functools.cache
def push_service() -> PushService:
    """Pushes live copies to subscribers."""
    url, aws = PushSettings.read().connections_url, AwsSettings.read()
    signer = connections_signer(url, aws.aws_default_region, access_key(aws), clock())
    return PushService(connections(), ApiGatewayPusher(signer, ConnectionPool(Target(url))))
