"""Series of samples in bounded memory: when there are too many points, neighbours are merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LIMIT = 1_200
"""Points of each series; two hours with a sample each second are points of 8 s."""
HIGHEST = ("memory", "depths", "longest")
"""Kinds whose merged points keep the larger value; those of the others are rates, and keep the mean."""

Values = Mapping[str, Mapping[str, float | None]]
"""The values of a sample by kind and name."""


class Series:
    """Samples by kind and name. ``None`` is a value that is not known."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.times: list[float] = []
        self.kinds: dict[str, dict[str, list[float | None]]] = {}
        self._limit = limit - limit % 2
        self._merged = 1
        self._waiting: list[tuple[float, Values]] = []

    def add(self, at: float, values: Values) -> None:
        """Add a sample of the time before ``at``, in epoch seconds."""
        self._waiting.append((at, values))
        if len(self._waiting) == self._merged:
            self._close()

    def _close(self) -> None:
        """Make one point of the waiting samples."""
        waiting = [values for _, values in self._waiting]
        names = dict.fromkeys((kind, name) for values in waiting for kind, found in values.items() for name in found)
        for kind, name in names:
            column = self.kinds.setdefault(kind, {}).setdefault(name, [])
            column += [None] * (len(self.times) - len(column))
            column.append(_merge(kind, [values.get(kind, {}).get(name) for values in waiting]))
        self.times.append(self._waiting[-1][0])
        self._waiting = []
        if len(self.times) == self._limit:
            self._halve()

    def _halve(self) -> None:
        self._fill()
        self._merged *= 2
        self.times = self.times[1::2]
        for kind, columns in self.kinds.items():
            for name, column in columns.items():
                pairs = zip(column[::2], column[1::2], strict=True)
                columns[name] = [_merge(kind, list(pair)) for pair in pairs]

    def _fill(self) -> None:
        for columns in self.kinds.values():
            for column in columns.values():
                column += [None] * (len(self.times) - len(column))

    def document(self) -> dict[str, Any]:
        """Everything as JSON: ``times``, and by kind and name a value for each of them."""
        if self._waiting:
            self._close()
        self._fill()
        return {"times": self.times, **self.kinds}


def _merge(kind: str, values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    merged = max(known) if kind in HIGHEST else sum(known) / len(values)
    return float(f"{merged:.5g}")
