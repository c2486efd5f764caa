"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# A deadline is a timed assertion, and machines are shared: a slow one is no failure.
settings.register_profile("headrace", deadline=None)
settings.load_profile("headrace")
