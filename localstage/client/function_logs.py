"""Reads the logs of the local stage's functions: new lines, and the metrics, durations and audit lines in them.

A metric line (EMF) names its dimensions. A REPORT line has the duration of an invocation. An audit line says what an
operator did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

_AUDIT = b'"kind":"audit"'
_OF_EVERY_LINE = ("level", "location", "service", "kind", "correlation_id", "xray_trace_id", "timestamp")
_REPORT = re.compile(r"REPORT RequestId: \S+\tDuration: ([0-9.]+) ms")


@dataclass(frozen=True, slots=True)
class Metric:
    """The values of one metric in a line; ``at`` is in epoch seconds, ``dimensions`` are sorted."""

    at: float
    name: str
    unit: str
    dimensions: tuple[tuple[str, str], ...]
    values: list[float]


class NewLines:
    """Reads the lines that are added to the logs of a folder. The end of a log that was just rotated may be missed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = {path: path.stat().st_size for path in folder.glob("*.log")}

    def lines(self) -> Iterator[tuple[str, str]]:
        """The function and the text of each complete line since the last call."""
        for path in sorted(self._folder.glob("*.log")):
            begin = self._read.get(path, 0)
            if path.stat().st_size < begin:  # rotated
                begin = 0
            with path.open("rb") as file:
                file.seek(begin)
                whole, newline, _ = file.read().rpartition(b"\n")
            self._read[path] = begin + len(whole) + len(newline)
            yield from ((path.stem, text) for text in whole.decode(errors="replace").splitlines())


def metrics(text: str) -> list[Metric]:
    """The metrics of a line in the embedded metric format; none of another line."""
    if not text.startswith("{"):
        return []
    try:
        content = json.loads(text)
        found = content.get("_aws", {})
        return [
            Metric(
                found["Timestamp"] / 1000,
                each["Name"],
                each.get("Unit", "None"),
                tuple(sorted((name, str(content[name])) for name in names)),
                values if isinstance(values := content[each["Name"]], list) else [values],
            )
            for directive in found.get("CloudWatchMetrics", ())
            for names in directive["Dimensions"]
            for each in directive["Metrics"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []  # a line that was cut, or of another program


def duration(text: str) -> float | None:
    """The milliseconds of a REPORT line; None of another line."""
    report = _REPORT.match(text)
    return float(report[1]) if report else None


def audited(folder: Path, limit: int) -> list[dict[str, Any]]:
    """What operators did, newest first: at most ``limit`` audit lines of all logs, also of rotated ones.

    Each has its ``time``, the ``operator``, the action as ``message``, and the fields of its action.
    """
    found = []
    for path in folder.glob("*.log*"):
        with path.open("rb") as file:
            found += [_action(line) for line in file if _AUDIT in line]
    return sorted(filter(None, found), key=lambda each: each["time"], reverse=True)[:limit]


def _action(line: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(line)
        at = datetime.strptime(content["timestamp"], "%Y-%m-%d %H:%M:%S,%f%z")
        return {"time": at.isoformat(), **{name: content[name] for name in content if name not in _OF_EVERY_LINE}}
    except (ValueError, KeyError, TypeError):
        return None  # a line that was cut, or of another program
