"""The common form of all benchmarks: what they measure, one number per round, printed as a table and written as JSON.

A benchmark's ``main`` prints its table and returns its :class:`Series`, which :func:`command` writes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from loadtest.client.command import count

Better = Literal["", "lower", "higher"]


@dataclass(frozen=True)
class Series:
    """One measured number per round.

    ``better`` says which way a ratio gets better. Only a ratio has it: a number against a peer or a physical limit that
    is measured in the same round. A figure in a ``unit`` depends on the machine.
    """

    name: str
    values: tuple[float, ...]
    unit: str = ""
    better: Better = ""

    @property
    def median(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile; both are the value of a single round."""
        if len(self.values) == 1:
            return self.values[0], self.values[0]
        first, _, third = statistics.quantiles(self.values, n=4, method="inclusive")
        return first, third

    def summary(self) -> dict[str, Any]:
        """The form in which a ratio is committed."""
        numbers = zip(("median", "low", "high"), (self.median, *self.quartiles), strict=True)
        return {"better": self.better, **{name: float(f"{value:.4g}") for name, value in numbers}}

    @classmethod
    def of_message(cls, message: dict[str, Any]) -> Series:
        """A series from its JSON."""
        return cls(**{**message, "values": tuple(message["values"])})


def figure(name: str, values: Iterable[float], unit: str) -> Series:
    """A figure that depends on the machine."""
    return Series(name, tuple(values), unit)


def ratio(name: str, ours: Iterable[float], theirs: Iterable[float], better: Better) -> Series:
    """Ours divided by theirs, round by round."""
    return Series(name, tuple(our / their for our, their in zip(ours, theirs, strict=True)), "×", better)


def percentile(values: Sequence[float], percent: int) -> float:
    """Of sorted values."""
    return values[len(values) * percent // 100]


def median_text(values: Sequence[float]) -> str:
    """The median as a cell of a table, with a decimal below 100; empty without values."""
    median = statistics.median(values) if values else 0.0
    return f"{median:,.{0 if median >= 100 else 1}f}" if values else ""


def ratio_text(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The median of the rounds' ratios as a cell of a table; empty if a side has not measured each round."""
    ratios = [our / their for our, their in zip(ours, theirs, strict=True) if their] if len(ours) == len(theirs) else []
    return f"{statistics.median(ratios):.2f}×" if ratios else ""


def command(doc: str, main: Callable[..., Any], rounds: int, **sizes: Any) -> None:
    """The command of a benchmark: calls ``main`` with ``rounds`` and ``sizes``, each an option of the command.

    ``main`` returns its series, also as a coroutine.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--rounds", type=count, default=rounds, help=f"rounds per number (default {rounds})")
    parser.add_argument("--json", type=Path, help="write every number of every round to this file")
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"default {value}")
    options = vars(parser.parse_args())
    path = options.pop("json")
    found = main(**options)
    found = asyncio.run(found) if asyncio.iscoroutine(found) else found
    if path is not None:
        path.write_text(json.dumps([asdict(each) for each in found], indent=1, ensure_ascii=False), encoding="utf-8")


def row(*cells: str) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def head(*cells: str) -> None:
    """Print the head of a Markdown table."""
    row(*cells)
    row(*["---"] * len(cells))
