"""Counts rides that are stored."""

from __future__ import annotations

from headrace.core.stream import Hook, built_later
from headrace.features.ski.stream import SKI


def after() -> list[tuple[str, Hook]]:
    return [(SKI.name, built_later(_ride_hook))]


def _ride_hook() -> Hook:
    # Imported here: an environment without rides loads none of it.
    from headrace.features.ski.day_counts import RideHook
    from headrace.features.ski.dynamodb import stage_resorts
    from headrace.features.ski.redis import DayCounts
    from headrace.services.shared import clock, dynamodb, separate_cache

    return RideHook(DayCounts(separate_cache()), stage_resorts(dynamodb()), clock()).after_store
