"""Errors of the rehearsal."""

from __future__ import annotations


class RehearsalError(Exception):
    """A step did not end as expected; the message says which, what came and what was expected."""
