"""Builds what the functions that read and connect need, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from headrace import answers
from headrace.auth import Caller, caller_from_http
from headrace.aws import client
from headrace.connections import Connections, DynamoConnections
from headrace.cursors import CursorSigner
from headrace.errors import HeadraceError
from headrace.history import History
from headrace.observe import correlate, report, report_unexpected
from headrace.readers.dynamodb import DynamoReader
from headrace.secrets import ManagedSecrets
from headrace.settings import ConnectionSettings, ReadSettings, TableSettings
from headrace.streams.chat import CHAT
from headrace.times import SystemClock

Page = Callable[[History, Caller, Mapping[str, Any]], dict[str, Any]]


@functools.cache
def history() -> History:
    """The history of chat messages."""
    settings = ReadSettings.read()
    table = TableSettings.of(CHAT.table_setting, CHAT.retention_setting)
    key = ManagedSecrets().text(settings.cursor_secret_arn).encode()
    return History(DynamoReader(client("dynamodb")), CursorSigner(key), table.table, SystemClock())


@functools.cache
def connections() -> Connections:
    """The connections there are."""
    return DynamoConnections(client("dynamodb"), ConnectionSettings.read().connections_table)


@functools.cache
def scope_prefix() -> str:
    """What stands before every scope in a token."""
    return ReadSettings.read().scope_prefix


def answer_page(event: Mapping[str, Any], page: Page) -> dict[str, Any]:
    """The HTTP answer with the page that ``page(history, caller, event)`` gives, or with the error that stopped it."""
    correlate(event)
    try:
        caller = caller_from_http(event, scope_prefix())
        return answers.http(200, page(history(), caller, event))
    except HeadraceError as error:
        answer = answers.http_error(error)
        if answer["statusCode"] >= 500:
            report(type(error).__name__, f"a page could not be read: {error.message}", level="error")
        return answer
    except Exception as error:  # noqa: BLE001 - reported, and answered as an error
        report_unexpected(error)
        return answers.http_error(error)
