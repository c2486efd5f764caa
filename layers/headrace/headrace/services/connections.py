"""Builds what is known of WebSocket connections: their rows."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.live.connections import TokenExpiries
from headrace.live.dynamodb import Connections
from headrace.services.hints import connections_table
from headrace.services.shared import clock, dynamodb, separate_cache

if TYPE_CHECKING:
    from headrace.live.shares import Shares


@functools.cache
def connections() -> Connections:
    """The connections and their subscriptions."""
    return Connections(connections_table(dynamodb()), clock())


@functools.cache
def token_expiries() -> TokenExpiries:
    """When the tokens of renewed connections expire."""
    return TokenExpiries(connections().expiries, clock())


@functools.cache
def shares() -> Shares:
    """How much each user follows."""
    # Imported here: only functions that open connections or subscribe them need it.
    from headrace.live.shares import Shares

    return Shares(separate_cache(), connections())
