"""All benchmarks that ``make bench`` runs, each with its peer or physical limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bench:
    """The module ``bench.<module>`` with ``arguments``; it takes about ``seconds`` with five rounds."""

    module: str
    seconds: int
    arguments: tuple[str, ...] = ()

    @property
    def limit(self) -> float:
        """Seconds after which it is ended."""
        return 5 * self.seconds + 120


BENCHES = {
    "publish": Bench("publish", 20),
    "persist": Bench("persist", 20),
    "clicks": Bench("clicks", 10, ("--clicks", "4000")),
    "rate-limit": Bench("rate_limit", 15),
    "history": Bench("history", 45),
    "analytics": Bench("analytics", 30, ("--sizes", "50000", "--day", "0")),
    "live": Bench("live", 45, ("--seconds", "20")),
    "flood": Bench("live.flood", 120, ("--seconds", "15")),
    "first": Bench("analytics.first_questions", 25),
    "localstage": Bench("echo", 85, ("--seconds", "3")),
    "emulators": Bench("emulators", 30, ("--only", "dynalite", "--items", "5000")),
    "powertools": Bench("powertools", 35),
    "cold": Bench("cold", 100),
}
"""Each benchmark by the name of its target, ``make bench-<name>``; some measure less here, to be done in time."""
