"""Builds what read_ads needs, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from headrace.analysing import MARGIN_SECONDS, analytics_of
from headrace.analytics.scanner import Deadline
from headrace.api.paging.cursors import CursorSigner
from headrace.core.times import SystemClock
from headrace.reading import answer_body
from headrace.runtime.aws import client
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import AdsSettings, table_settings
from headrace.storage.dynamodb.range_reader import DynamoReader
from headrace.streams.ads.history import ClickHistory
from headrace.streams.ads.routes import AdsRoutes, Route
from headrace.streams.ads.stream import ADS


@functools.cache
def ads_routes() -> AdsRoutes:
    """Answers requests about clicks."""
    settings = AdsSettings.read()
    table = table_settings(ADS).table
    cursors = CursorSigner(ManagedSecrets().text(settings.cursor_secret_arn).encode())
    history = ClickHistory(DynamoReader(client("dynamodb")), cursors, table, SystemClock())
    return AdsRoutes(history, analytics_of(ADS, settings))


def answer_ads(event: Mapping[str, Any], route: Route, remaining: float) -> dict[str, Any]:
    """The HTTP answer to a question about clicks; ``remaining`` are the seconds of this invocation."""
    deadline = Deadline(remaining - MARGIN_SECONDS)
    return answer_body(event, lambda caller, event: route(ads_routes(), caller, event, deadline))
