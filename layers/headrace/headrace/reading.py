"""Builds what the functions that read and connect need, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from headrace.api import responses
from headrace.api.auth import caller_from_http
from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.page import Page
from headrace.core.caller import Caller
from headrace.core.errors import HeadraceError
from headrace.core.times import SystemClock
from headrace.live.connections import Connections
from headrace.live.connections_dynamodb import DynamoConnections
from headrace.rights import access
from headrace.runtime.aws import client
from headrace.runtime.observability import correlate, report, report_unexpected
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import CacheSettings, ConnectionSettings, ReadSettings, table_settings
from headrace.storage.dynamodb.range_reader import DynamoReader
from headrace.storage.redis import RedisCache
from headrace.streams.chat.history import History
from headrace.streams.chat.newest_page_cache import NewestPageCache
from headrace.streams.chat.stream import CHAT

ReadPage = Callable[[Caller, Mapping[str, Any]], Page]
ReadBody = Callable[[Caller, Mapping[str, Any]], Mapping[str, Any] | str]


@functools.cache
def room_history() -> History:
    """The history of rooms, whose newest pages the cache holds."""
    return _history(NewestPageCache(RedisCache.of(CacheSettings.read()), SystemClock()))


@functools.cache
def user_history() -> History:
    """The history of users, of which nothing is cached."""
    return _history(None)


def _history(newest: NewestPageCache | None) -> History:
    table = table_settings(CHAT)
    key = ManagedSecrets().text(ReadSettings.read().cursor_secret_arn).encode()
    reader = DynamoReader(client("dynamodb"))
    return History(reader, CursorSigner(key), table.table, SystemClock(), access(), newest)


@functools.cache
def connections() -> Connections:
    """The connections there are."""
    return DynamoConnections(client("dynamodb"), ConnectionSettings.read().connections_table)


@functools.cache
def scope_prefix() -> str:
    """What stands before every scope in a token."""
    return ReadSettings.read().scope_prefix


def answer_page(event: Mapping[str, Any], read: ReadPage) -> dict[str, Any]:
    """The HTTP answer with the page that ``read(caller, event)`` gives, or with the error that stopped it."""
    return answer_body(event, lambda caller, event: read(caller, event).text())


def answer_body(event: Mapping[str, Any], read: ReadBody) -> dict[str, Any]:
    """The same for any body, as text or as plain values."""
    correlate(event)
    try:
        caller = caller_from_http(event, scope_prefix())
        return responses.http(200, read(caller, event))
    except HeadraceError as error:
        answer = responses.http_error(error)
        if answer["statusCode"] >= 500:
            report(type(error).__name__, f"a page could not be read: {error.message}", level="error")
        return answer
    except Exception as error:  # noqa: BLE001 - reported, and answered as an error
        report_unexpected(error)
        return responses.http_error(error)
