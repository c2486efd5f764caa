"""The result of a run: counts of events, and latencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadtest.checker.findings import Findings
from loadtest.measured.histogram import Histogram


def milliseconds(seconds: float | None) -> str:
    """``12ms``; ``-`` when nothing was measured."""
    return "-" if seconds is None else f"{max(1, round(seconds * 1000))}ms"


@dataclass(frozen=True)
class Latency:
    """Seconds; ``None`` when nothing was measured."""

    p50: float | None
    p99: float | None

    @classmethod
    def of(cls, histogram: Histogram) -> Latency:
        """The percentiles of ``histogram``."""
        return cls(histogram.percentile(50), histogram.percentile(99))

    def __str__(self) -> str:
        return f"p50={milliseconds(self.p50)} p99={milliseconds(self.p99)}"


@dataclass(kw_only=True)
class Verdict(Findings):
    """The result of a checker. ``unanswered`` events were neither acknowledged nor refused."""

    attempted: int
    accepted: int
    refused: int
    unanswered: int

    @property
    def kept(self) -> bool:
        """True when no accepted event is lost, duplicated or out of order, and none is unexpected."""
        return not (self.lost or self.unexpected or self.duplicated or self.disordered)

    @property
    def whole(self) -> bool:
        """True when, in addition, everything attempted was accepted."""
        return self.kept and self.accepted == self.attempted

    def line(self, acks: Latency, durable: Latency) -> str:
        """The last line of every run, with its latencies."""
        return last_line(vars(self), "duplicated", acks, durable)


def last_line(counts: Mapping[str, int], fault: str, acks: Latency, durable: Latency) -> str:
    """The line that sums ``counts`` up, with the ``fault`` that events of this kind may have."""
    names = ["accepted", "stored", *(["waiting"] if counts["waiting"] else []), "lost", "unexpected", fault]
    return f"{' '.join(f'{name}={counts[name]}' for name in names)} acks {acks} durable {durable}"
