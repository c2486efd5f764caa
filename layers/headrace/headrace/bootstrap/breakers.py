"""Builds what publishes the states of circuit breakers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.runtime.settings import EnvironmentSettings
from headrace.services.shared import clock, separate_cache

if TYPE_CHECKING:
    from headrace.operations.breaker_status import BreakerStatus


@functools.cache
def breaker_status() -> BreakerStatus:
    """Publishes the states of this environment's breakers."""
    # Imported here: it takes 17 ms of CPU, and only functions that publish or store events have breakers.
    from headrace.operations.breaker_status import BreakerStatus

    return BreakerStatus(EnvironmentSettings.read(), separate_cache, clock())
