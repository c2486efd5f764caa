"""The platform's template with shorter durations, so that a fault scenario takes minutes instead of hours.

Only durations change: parameters, and values without one (the visibility of a record in the retry lane, the heartbeat,
the schedule that repairs the topology).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loadtest.client import stage_template

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = {"RetryFirstPauseSeconds": "2", "PersistTimeoutSeconds": "20"}
HEARTBEAT = 60
"""Seconds: the shortest that the platform accepts. RabbitMQ gives up on a silent peer after one to two of them."""

_NONE: Mapping[str, str] = {}
_EDITS = (
    ("VisibilityTimeout: 360", "VisibilityTimeout: 20"),
    (" PERSIST_QUEUES: ", f' BROKER_HEARTBEAT_SECONDS: "{HEARTBEAT}"\n        PERSIST_QUEUES: '),
    ("Schedule: rate(5 minutes)", "Schedule: rate(1 minute)"),
)


def write_template(folder: Path, parameters: Mapping[str, str] = _NONE, edits: Sequence[tuple[str, str]] = ()) -> Path:
    """Write the template with the short durations, these ``parameters`` and ``edits`` into ``folder``; its path.

    Raises:
        ValueError: a text to replace is not in the template; the message names it.
    """
    return stage_template.write_template(folder, (*_EDITS, *edits), {**PARAMETERS, **parameters})
