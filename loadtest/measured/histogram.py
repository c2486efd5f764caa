"""A histogram of latencies, exact to three digits, in constant memory."""

from __future__ import annotations

from hdrh.histogram import HdrHistogram

LARGEST = 3_600_000_000
"""Microseconds; longer latencies count as one hour."""
DIGITS = 3
PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)


class Histogram:
    """Latencies in seconds, recorded in whole microseconds. For the greenlets of one process: nothing is locked."""

    def __init__(self) -> None:
        self._counts = HdrHistogram(1, LARGEST, DIGITS)

    def encoded(self) -> str:
        """The counts as text, in the compressed format that HDR histograms of all languages read."""
        return str(self._counts.encode().decode())

    def record(self, seconds: float, count: int = 1) -> None:
        """Record ``count`` latencies of ``seconds``."""
        self._counts.record_value(_microseconds(seconds), count)

    def add(self, encoded: str) -> None:
        """Add the counts of a histogram that :meth:`encoded` returned."""
        self._counts.decode_and_add(encoded)

    @property
    def count(self) -> int:
        """How many latencies were recorded."""
        return int(self._counts.get_total_count())

    def percentile(self, percent: float) -> float | None:
        """The value in seconds that ``percent`` of all latencies do not exceed; ``None`` without latencies."""
        return self._counts.get_value_at_percentile(percent) / 1e6 if self.count else None

    def summary(self) -> dict[str, float]:
        """Count, minimum, mean, percentiles and maximum, in seconds."""
        if not self.count:
            return {"count": 0}
        values = self._counts.get_percentile_to_value_dict(PERCENTILES)  # one walk for all
        found = {f"p{percent:g}": values[percent] / 1e6 for percent in PERCENTILES}
        found |= {"min": self._counts.get_min_value() / 1e6, "mean": self._counts.get_mean_value() / 1e6}
        return {"count": self.count, **found, "max": self._counts.get_max_value() / 1e6}


def _microseconds(seconds: float) -> int:
    return min(max(1, round(seconds * 1e6)), LARGEST)
