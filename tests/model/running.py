"""Runs of the model: their number, their length, and whether they are repeatable."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from headrace.core import envelope, times
from tests.model.machine import Model

ASKED = int(os.environ.get("MODEL_EXAMPLES") or 0)
"""The number of random runs of ``make model EXAMPLES=n``; 0: the same runs every time."""
STEPS = 50


def settings_of(examples: int, **more: Any) -> settings:
    """Settings for that many runs, by default the same ones every time; also a decorator, for a test with ``given``."""
    quiet: dict[str, Any] = {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}
    return settings(max_examples=examples, print_blob=True, **quiet, **{"derandomize": True} | more)


def run(machine: type[Model], examples: int, **more: Any) -> None:
    """Run ``machine`` that many times. Raises the error of the first failed run, which ``phases`` may shrink."""
    with _small_envelopes(), _repeatable_ids():
        run_state_machine_as_test(machine, settings=settings_of(examples, stateful_step_count=STEPS, **more))


@contextmanager
def _repeatable_ids() -> Iterator[None]:
    """Take the server's random ids from the generator that Hypothesis seeds for every run."""
    with patch.object(times, "os", SimpleNamespace(urandom=random.randbytes)):
        yield


@contextmanager
def _small_envelopes() -> Iterator[None]:
    """Limit envelopes, so that a request of eight events takes several messages, as one of hundreds does."""
    with patch.object(envelope, "MAX_EVENTS", 3):
        yield
