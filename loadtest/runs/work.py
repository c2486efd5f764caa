"""What the phases of all streams have in common."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from loadtest.checker.durability_probe import DurabilityProbe, LookFor
from loadtest.client.target import Target
from loadtest.measured.measurements import Measurements
from loadtest.runs.place import Place
from loadtest.shapes.shape import Phase
from localstage.client.http_api import HttpApi

OPERATOR = "loadtest-lanes"
"""The user who asks for the depths of the lanes."""


class Work:
    """One worker's part of a phase: it measures accepted events. ``reader`` looks for them by ``look_for``."""

    def __init__(
        self,
        target: Target,
        phase: Phase,
        place: Place,
        measurements: Measurements,
        reader: HttpApi,
        look_for: LookFor,
    ) -> None:
        self.phase = phase
        self._target = target
        self._last = place.last
        self._measurements = measurements
        self._reader = reader
        self._probe = DurabilityProbe(look_for, lambda *found: measurements.record("durable", *found))

    def begin(self) -> None:
        """Prepare nothing."""

    def _measure(self, events: Sequence[Any], first_sent: float) -> None:
        self._measurements.record("ack", time.perf_counter() - first_sent, len(events))
        self._measurements.count("accepted", len(events))
        self._probe.offer(events, first_sent)

    def close(self) -> None:
        """Close the reader's connections."""
        self._probe.finish()
        self._reader.close()
