"""Series of samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HIGHEST = ("memory", "depths", "longest")
"""Kinds whose largest value counts when points are merged; those of the others are rates, and keep the mean."""

Values = Mapping[str, Mapping[str, float | None]]
"""The values of a sample by kind and name."""


class Series:
    """Samples by kind and name. ``None`` is a value that is not known. Two hours are about 4 MB."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._kinds: dict[str, dict[str, list[float | None]]] = {}

    def add(self, at: float, values: Values) -> None:
        """Add a sample of the time before ``at``, in epoch seconds."""
        for kind, found in values.items():
            for name, value in found.items():
                column = self._kinds.setdefault(kind, {}).setdefault(name, [])
                column += [None] * (len(self._times) - len(column))
                column.append(None if value is None else float(f"{value:.5g}"))
        self._times.append(at)

    def document(self) -> dict[str, Any]:
        """Everything as JSON: ``times``, and by kind and name a value for each of them."""
        for columns in self._kinds.values():
            for column in columns.values():
                column += [None] * (len(self._times) - len(column))
        return {"times": self._times, **self._kinds}
