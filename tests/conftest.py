"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# A deadline would be a timed assertion, which fails on a slow machine.
settings.register_profile("headrace", deadline=None)
settings.load_profile("headrace")
