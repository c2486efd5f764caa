"""Builds what takes back a click that is stored already."""

from __future__ import annotations

from headrace.core.stream import Hook
from headrace.features.ads.dynamodb import DynamoStubs
from headrace.features.ads.stream import ADS
from headrace.features.ads.take_back import KnownClicks
from headrace.runtime.settings import table_settings
from headrace.services.shared import dynamodb


def known() -> list[tuple[str, Hook]]:
    return [(ADS.name, KnownClicks(DynamoStubs(dynamodb(), table_settings(ADS).table)).known)]
