"""Builds the service that pushes to WebSocket connections."""

from __future__ import annotations

import functools

from headrace.bootstrap.live import connections
from headrace.bootstrap.shared import clock
from headrace.live.push.api_gateway import ApiGatewayPusher, Signer
from headrace.live.push.connection_pool import ConnectionPool
from headrace.live.push_service import PushService
from headrace.runtime import aws
from headrace.runtime.settings import PushSettings


@functools.cache
def push_service() -> PushService:
    """Pushes live copies to subscribers."""
    url = PushSettings.read().connections_url
    signer = Signer(url, *aws.signing(), clock())
    return PushService(connections(), ApiGatewayPusher(signer, ConnectionPool(url)))
