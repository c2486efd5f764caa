"""Builds what read_analytics needs, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from headrace.analytics.requests import WindowRequest, parse_request
from headrace.analytics.scanner import Deadline, Scanner
from headrace.analytics.windows import Analytics
from headrace.api import responses
from headrace.api.auth import caller_from_http
from headrace.core.caller import Caller
from headrace.core.errors import HeadraceError
from headrace.core.stream import Stream
from headrace.core.times import SystemClock
from headrace.runtime.observability import Meter, correlate, report, report_unexpected
from headrace.runtime.settings import AnalyticsSettings, table_settings
from headrace.storage.dynamodb.column_reader import DynamoColumns, columns_client
from headrace.storage.redis import RedisCache
from headrace.streams.chat.stream import CHAT

MARGIN_SECONDS = 4.0
"""What is left of an invocation's time when nothing more is read: to keep what was read, and to answer."""

Answer = Callable[[Analytics, Caller, WindowRequest, Deadline], dict[str, Any]]

ROUTES: dict[str, tuple[Answer, tuple[str, ...]]] = {
    "GET /analytics/window": (Analytics.window, ("top",)),
    "GET /analytics/active-users": (Analytics.active_users, ()),
    "GET /analytics/series": (Analytics.series, ("step",)),
}
"""What answers each route, and its own parameters."""


@functools.cache
def settings() -> AnalyticsSettings:
    """The settings of this function."""
    return AnalyticsSettings.read()


@functools.cache
def analytics() -> Analytics:
    """The analytics of chat messages."""
    return analytics_of(CHAT, settings())


def analytics_of(stream: Stream, settings: AnalyticsSettings) -> Analytics:
    """The analytics of a stream's events."""
    table = table_settings(stream)
    clock = SystemClock()
    reader = DynamoColumns(columns_client(settings.analytics_parallel_reads))
    scanner = Scanner(reader, table.table, table.time_read_shards, clock, settings.analytics_parallel_reads)
    return Analytics(scanner, RedisCache.of(settings), clock, settings.analytics_settle_seconds)


def answer_analytics(event: Mapping[str, Any], remaining: float) -> dict[str, Any]:
    """The HTTP answer to an analytics request; ``remaining`` are the seconds of this invocation."""
    correlate(event)
    meter = Meter()
    try:
        answer, parameters = ROUTES[event["routeKey"]]
        caller = caller_from_http(event, settings().scope_prefix)
        request = parse_request(CHAT, event.get("queryStringParameters"), *parameters)
        before = analytics().units
        try:
            body = answer(analytics(), caller, request, Deadline(remaining - MARGIN_SECONDS))
        finally:
            meter.measure("AnalyticsReadUnits", analytics().units - before)
        return responses.http(200, body)
    except HeadraceError as error:
        answered = responses.http_error(error)
        if answered["statusCode"] >= 500:
            report(type(error).__name__, f"analytics could not be answered: {error.message}", level="error")
        return answered
    except Exception as error:  # noqa: BLE001 - reported, and answered as an error
        report_unexpected(error)
        return responses.http_error(error)
    finally:
        meter.flush()
