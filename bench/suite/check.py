"""Compares the ratios of a run with the committed ones of ``bench/ratios.json``.

A ratio is worse if its median is more than 10% worse than the committed one and its interquartile interval lies wholly
on the worse side of the committed interval. Absolute times are never compared: they depend on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.suite.rounds import Series
from bench.suite.run import Run

COMMITTED = Path(__file__).resolve().parents[1] / "ratios.json"
NOISE = 0.10
Ratios = Mapping[str, Any]
"""By benchmark: commit, date, rounds, and ``ratios`` by name: better, median, and the quartiles low and high."""


def ratios_of(run: Run) -> dict[str, Any]:
    """The ratios of every benchmark that ran, in the committed form."""
    return {
        name: {
            "commit": facts["commit"],
            "date": facts["began"][:10],
            "rounds": facts["rounds"],
            "ratios": {each.name: _ratio(each) for each in run.series(name) if each.better},
        }
        for name, facts in run.benches.items()
        if not facts["error"]
    }


def _ratio(series: Series) -> dict[str, Any]:
    low, high = series.quartiles
    numbers = {"median": series.median, "low": low, "high": high}
    return {"better": series.better, **{name: float(f"{value:.4g}") for name, value in numbers.items()}}


def verdict(committed: Ratios, now: Ratios) -> str:
    """``worse``, ``better`` or ``same``, for two forms of one ratio."""
    if _is_worse(now, committed):
        return "worse"
    return "better" if _is_worse(committed, now) else "same"


def _is_worse(one: Ratios, other: Ratios) -> bool:
    """Whether ``one`` is worse than ``other`` beyond the noise."""
    large, small = (one, other) if one["better"] == "lower" else (other, one)
    return bool(large["median"] > (1 + NOISE) * small["median"] and large["low"] > small["high"])


@dataclass
class Comparison:
    """Lines per ratio that is ``worse``, ``better``, ``new`` or ``missing``; the number of those that are the same.

    ``not_run`` are committed benchmarks that the run has not, ``failed`` those that failed in it.
    """

    worse: list[str] = field(default_factory=list)
    better: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    same: int = 0
    not_run: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing got worse, is missing from a benchmark that ran, or failed."""
        return not (self.worse or self.missing or self.failed)

    def lines(self) -> Iterator[str]:
        """The lines to print."""
        for name in ("worse", "missing", "better", "new"):
            yield from (f"{name:8}{line}" for line in getattr(self, name))
        yield from (f"failed  {name}" for name in self.failed)
        if self.not_run:
            yield f"not run: {', '.join(self.not_run)}"
        compared = len(self.worse) + len(self.better) + self.same
        yield (
            f"{compared} ratios compared: {len(self.worse)} worse, {len(self.better)} better, {self.same} within the "
            f"noise; {len(self.missing)} missing, {len(self.new)} new"
        )


def compare(committed: Ratios, now: Ratios, failed: list[str]) -> Comparison:
    """Compare the ratios of ``now`` with the committed ones."""
    found = Comparison(failed=failed, not_run=[name for name in committed if name not in now and name not in failed])
    for bench, facts in now.items():
        before: Ratios = committed.get(bench, {"ratios": {}})["ratios"]
        found.missing += [f"{bench}: {name}" for name in before if name not in facts["ratios"]]
        for name, ratio in facts["ratios"].items():
            if name not in before:
                found.new.append(f"{bench}: {name}: {ratio['median']:g}×")
                continue
            result = verdict(before[name], ratio)
            if result == "same":
                found.same += 1
            else:
                line = f"{bench}: {name}: {_text(before[name])}, now {_text(ratio)}; {ratio['better']} is better"
                getattr(found, result).append(line)
    return found


def _text(ratio: Ratios) -> str:
    return f"{ratio['median']:g}× ({ratio['low']:g} to {ratio['high']:g})"


def read(path: Path = COMMITTED) -> dict[str, Any]:
    """The committed ratios; nothing if none are committed yet."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def accept(now: Ratios, path: Path = COMMITTED) -> None:
    """Write the ratios of ``now`` as the committed ones; those of other benchmarks stay."""
    text = json.dumps({**read(path), **now}, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
