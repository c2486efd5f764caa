"""Builds what functions with requests use: cursors, limits and times."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.core.errors import ConfigurationError
from headrace.runtime.setting_forms import KeyArn, Settings
from headrace.runtime.settings import AuthSettings, RateSettings
from headrace.services.shared import secrets, separate_cache

if TYPE_CHECKING:
    from headrace.api.paging.cursors import CursorSigner
    from headrace.api.rates.rate_limiter import RateLimiter
    from headrace.api.statistics import RequestTimes


class CursorSettings(Settings):
    """The key material for the cursors of pages."""

    cursor_secret_arn: KeyArn
    """Secret that the cursors of pages are encrypted with."""


@functools.cache
def cursors() -> CursorSigner:
    """Signs and verifies the cursors of pages."""
    # Imported here: cryptography takes 6 ms of CPU, and only functions that read pages need it.
    from headrace.api.paging.cursors import CursorSigner

    arn = CursorSettings.read().cursor_secret_arn
    return CursorSigner(secrets().text(arn).encode(), lambda: [key.encode() for key in secrets().versions(arn)])


@functools.cache
def scope_prefix() -> str:
    """What precedes every scope in a token."""
    return AuthSettings.read().scope_prefix


@functools.cache
def request_times() -> RequestTimes | None:
    """The times of this environment's requests; ``None`` where a function has no cache."""
    # Imported here, as the limiter below: functions without requests need neither.
    from headrace.api.statistics import RequestTimes

    try:
        return RequestTimes(separate_cache())
    except ConfigurationError:
        return None


@functools.cache
def rate_limiter() -> RateLimiter:
    """Limits callers to the rates of the settings. The environments of a function without a cache count alone."""
    from headrace.api.rates.rate_limiter import RateLimiter, SharedCounts

    try:
        shared = SharedCounts(separate_cache())
    except ConfigurationError:
        shared = None
    return RateLimiter(RateSettings.read(), shared)
