"""Builds what serves WebSocket connections: renewals of their tokens, and pushes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pydantic import Field

from headrace.runtime.aws import signing
from headrace.runtime.settings import ConnectionSettings
from headrace.services.connections import connections
from headrace.services.shared import clock

if TYPE_CHECKING:
    from headrace.live.push_service import PushService
    from headrace.live.routes import RenewalServices


class PushSettings(ConnectionSettings):
    """For push_live."""

    aws_endpoint_url_apigatewaymanagementapi: str = Field(description="the URL of a stage, such as https://host/stage")
    """Address of the WebSocket API's stage, for pushing to connections. AWS's own clients read this variable too."""


@functools.cache
def renewal() -> RenewalServices:
    """What renews the token of a connection."""
    # Imported here: only renew_connection verifies tokens, and loads pydantic and cryptography.
    from headrace.bootstrap.authorizer import token_verifier
    from headrace.live.routes import RenewalServices

    return RenewalServices(token_verifier(), connections())


@functools.cache
def push_service() -> PushService:
    """Pushes live copies to subscribers."""
    # Imported here: only push_live signs requests and keeps connections.
    from headrace.live.push.api_gateway import ApiGatewayPusher, signer_of_posts
    from headrace.live.push.connection_pool import ConnectionPool
    from headrace.live.push_service import PushService

    url = PushSettings.read().aws_endpoint_url_apigatewaymanagementapi
    return PushService(connections(), ApiGatewayPusher(signer_of_posts(url, *signing(), clock()), ConnectionPool(url)))
