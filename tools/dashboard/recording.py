"""The numbers of a local run, one per metric, minute and statistic, in ``recorded.json``."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.dashboard.definition import Selection

FILE = Path(__file__).with_name("recorded.json")
STATISTICS = ("Sum", "Minimum", "Maximum", "Average", "p50", "p99")
MINUTE = 60
FROM_STATE = {
    ("AWS/AmazonMQ", "MessageReadyCount"),
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
    ("AWS/Lambda", "Duration"),
    ("AWS/Lambda", "Errors"),
}
"""Metrics of AWS that the state and the logs of a local stage give too."""

_COMBINED: dict[str, Callable[[Sequence[float]], float]] = {"Sum": math.fsum, "Minimum": min, "Maximum": max}

Metric = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name and sorted dimensions."""


def is_local(line: Selection) -> bool:
    """Whether a local stage has the metrics of ``line``."""
    return line.namespace == "Headrace" or (line.namespace, line.name) in FROM_STATE


@dataclass(frozen=True)
class Series:
    """A line of a chart: values by the second at which their period begins."""

    label: str
    points: Mapping[int, float]


@dataclass
class Recording:
    """Statistics by metric and minute. ``day`` is a date, ``minutes`` the length."""

    day: str
    minutes: int
    metrics: dict[Metric, dict[int, tuple[float, ...]]] = field(default_factory=dict)

    @classmethod
    def of_values(cls, day: str, minutes: int, values: Mapping[Metric, Mapping[int, Sequence[float]]]) -> Recording:
        """The statistics of raw values by metric and minute."""
        metrics = {
            metric: {minute: _statistics(found) for minute, found in sorted(by_minute.items())}
            for metric, by_minute in sorted(values.items())
        }
        return cls(day, minutes, metrics)

    @classmethod
    def read(cls, path: Path = FILE) -> Recording:
        """What ``path`` has."""
        given = json.loads(path.read_text(encoding="utf-8"))
        metrics = {
            (each["namespace"], each["name"], tuple(sorted(each["dimensions"].items()))): {
                minute: tuple(numbers) for minute, *numbers in each["points"]
            }
            for each in given["metrics"]
        }
        return cls(given["day"], given["minutes"], metrics)

    def write(self, path: Path = FILE) -> None:
        """Write to ``path``, one line per metric."""
        lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in self._listed())
        head = {"day": self.day, "minutes": self.minutes, "statistics": STATISTICS}
        path.write_text(f'{json.dumps(head)[:-1]}, "metrics": [\n{lines}\n]}}\n', encoding="utf-8")

    def series(self, line: Selection) -> list[Series]:
        """The series of one line of a widget; metrics without a value are left out."""
        found = [(_label(line, dimensions), points) for dimensions, points in self._found(line)]
        if not line.total:
            return [Series(label, points) for label, points in sorted(found) if points]
        total: dict[int, float] = defaultdict(float)
        for _, points in found:
            for second, value in points.items():
                total[second] += value
        return [Series(line.label, dict(sorted(total.items())))] if total else []

    def _found(self, line: Selection) -> Iterator[tuple[dict[str, str], dict[int, float]]]:
        at = STATISTICS.index(line.statistic)
        for (namespace, name, pairs), points in self.metrics.items():
            if line.matches(namespace, name, dict(pairs)):
                periods: dict[int, list[float]] = defaultdict(list)
                for minute, numbers in points.items():
                    periods[minute * MINUTE // line.period * line.period].append(numbers[at] / line.divisor)
                yield dict(pairs), {begin: _combined(line.statistic, found) for begin, found in periods.items()}

    def _listed(self) -> Iterator[dict[str, Any]]:
        for (namespace, name, dimensions), points in self.metrics.items():
            rows = [[minute, *numbers] for minute, numbers in points.items()]
            yield {"namespace": namespace, "name": name, "dimensions": dict(dimensions), "points": rows}


def _label(line: Selection, dimensions: Mapping[str, str]) -> str:
    """As CloudWatch writes it: the label, and the values that tell the metrics of a search apart."""
    varying = [value for name, value in sorted(dimensions.items()) if name not in line.equal]
    return " ".join([line.label.strip(), *varying]).strip()


def _combined(statistic: str, values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else _COMBINED[statistic](values)


def _statistics(values: Sequence[float]) -> tuple[float, ...]:
    ordered = sorted(values)
    total = math.fsum(ordered)
    numbers = (total, ordered[0], ordered[-1], total / len(ordered), _percentile(ordered, 50), _percentile(ordered, 99))
    return tuple(float(f"{number:.5g}") for number in numbers)


def _percentile(ordered: Sequence[float], percent: int) -> float:
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
