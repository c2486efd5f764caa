"""What the logs of the functions say: sums of metrics, their rates over 15 minutes, and the newest events."""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from localstage.client.function_logs import Metric, NewLines, metrics

COUNTED = ("Accepted", "Stored", "Dead", "Redriven", "HandedOver", "LivePushed")
"""Metrics that are summed, by their dimensions."""
STEP, STEPS = 5, 180
"""Seconds of one point of a series, and how many points there are."""
SHOWN = 12
"""So many of the newest requests are shown, each with its first event."""

_Key = tuple[str, str, str]


class Counts:
    """Sums and series of the functions' metrics since it was made. ``logs`` is the folder of the logs."""

    def __init__(self, logs: Path, clock: Callable[[], float] = time.time) -> None:
        self._new = NewLines(logs)
        self._clock = clock
        self._sums: defaultdict[_Key, float] = defaultdict(float)
        self._slots: defaultdict[int, defaultdict[tuple[str, str], float]] = defaultdict(lambda: defaultdict(float))
        self._newest: deque[str] = deque(maxlen=SHOWN)

    def take(self) -> dict[str, Any]:
        """``sums``: rows of name, stream, lane and sum; ``series``: by name and lane; ``events``: the newest first.

        A point of a series is the sum of STEP seconds, or their longest ``WaitSeconds``. The last point is not whole.
        """
        for _, text in self._new.lines():
            for metric in metrics(text):
                self._add(metric)
            if '"Accepted"' in text and '"ids"' in text:
                self._newest.append(text)
        last = int(self._clock() // STEP)
        first = last - STEPS + 1
        for old in [slot for slot in self._slots if slot < first]:
            del self._slots[old]
        names = sorted({name for slot in self._slots.values() for name in slot})
        series = [
            [
                *name,
                [round(self._slots[slot][name], 3) if slot in self._slots else 0 for slot in range(first, last + 1)],
            ]
            for name in names
        ]
        sums = [[*key, value] for key, value in sorted(self._sums.items())]
        events = [_event(text) for text in reversed(self._newest)]
        return {"sums": sums, "series": {"start": first * STEP, "step": STEP, "rows": series}, "events": events}

    def _add(self, metric: Metric) -> None:
        dimensions = dict(metric.dimensions)
        lane = dimensions.get("lane", dimensions.get("verdict", ""))
        slot = self._slots[int(metric.at // STEP)]
        if metric.name == "WaitSeconds":
            slot[metric.name, lane] = max(slot[metric.name, lane], *metric.values)
        elif metric.name in COUNTED:
            self._sums[metric.name, dimensions.get("stream", ""), lane] += sum(metric.values)
            slot[metric.name, lane] += sum(metric.values)


def _event(text: str) -> dict[str, Any]:
    content = json.loads(text)
    return {
        "at": content["_aws"]["Timestamp"],
        "id": next(iter(content["ids"]), content.get("correlation_id", "")),
        "stream": content.get("stream", ""),
        "lane": content.get("lane", ""),
        "count": sum(content["Accepted"]),
    }
