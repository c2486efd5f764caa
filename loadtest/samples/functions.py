"""What the functions of a local stage wrote into their logs since the last look: metrics, and durations."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from localstage.client.function_logs import Metric, NewLines, duration, metrics

SECONDS = "Seconds"


class FunctionUsage:
    """Counts of metrics and durations per second. ``logs`` is the folder of the logs."""

    def __init__(self, logs: Path) -> None:
        self._new = NewLines(logs)

    def take(self, seconds: float) -> dict[str, dict[str, float]]:
        """By kind and name, for the last ``seconds``: ``counts`` of metrics, ``invocations`` and ``busy`` seconds, each
        per second, and the ``longest`` duration in seconds. A metric in seconds counts as a function with its name.
        """
        found: dict[str, defaultdict[str, float]] = {
            kind: defaultdict(float) for kind in ("counts", "invocations", "busy", "longest")
        }

        def took(name: str, taken: float) -> None:
            found["invocations"][name] += 1 / seconds
            found["busy"][name] += taken / seconds
            found["longest"][name] = max(found["longest"][name], taken)

        for function, text in self._new.lines():
            if (milliseconds := duration(text)) is not None:
                took(function, milliseconds / 1000)
            for metric in metrics(text):
                if metric.unit == SECONDS:
                    for value in metric.values:
                        took(metric.name, value)
                else:
                    found["counts"][_name(metric)] += sum(metric.values) / seconds
        return {kind: dict(values) for kind, values in found.items()}


def _name(metric: Metric) -> str:
    """The metric's name, and the lane if it has one."""
    lane = dict(metric.dimensions).get("lane", "")
    return f"{metric.name} {lane}".strip()
