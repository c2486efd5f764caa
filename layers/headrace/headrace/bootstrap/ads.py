"""Builds the services of read_ads."""

from __future__ import annotations

import functools

from headrace.bootstrap.analytics import analytics_of
from headrace.bootstrap.shared import cursors, range_reader
from headrace.runtime.settings import table_settings
from headrace.streams.ads.routes import AdsServices
from headrace.streams.ads.stream import ADS


@functools.cache
def ads_services() -> AdsServices:
    """The history and the counts of clicks."""
    return AdsServices(range_reader(), cursors(), table_settings(ADS).table, analytics_of(ADS))
