"""What the phases of all streams have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FAULTS = ("lost", "unexpected", "duplicated", "disordered", "wrong", "waiting")
"""The counts of :class:`Findings` that must be 0."""
OPERATOR = "loadtest-lanes"
"""The user who asks for the depths of the lanes."""


@dataclass(frozen=True)
class Findings:
    """What reading back found. Counts are of events, except ``wrong``: answers that differ from what was sent.

    ``waiting`` events are not stored, and the lanes still hold as many; ``lost`` ones are not stored either.
    """

    stored: int
    lost: int
    unexpected: int
    duplicated: int = 0
    disordered: int = 0
    wrong: int = 0
    waiting: int = 0
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rooms: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The accepted and the found events of each room."""
    at: float = 0.0
    """The time of ``time.monotonic`` when everything could be read."""


@dataclass(frozen=True)
class Sent:
    """What was sent so far. Counts are of events; ``refused`` permanently, the rest got no answer."""

    attempted: int
    accepted: int
    refused: int
    lanes: Mapping[str, int]
    errors: Mapping[str, int]
    retries: Mapping[str, int]
    reconnections: int = 0
