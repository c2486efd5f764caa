"""The result of a run: its phases, its exit code, its JSON, and the text to print."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadtest.runs.outcome import Outcome
from loadtest.samples.recording import Samples, since, usage
from loadtest.shapes.catalog import SHAPES
from loadtest.shapes.shape import Shape

FORMAT = 2
"""The format of the JSON; 1 had no samples."""


def _unique_name() -> str:
    """Two runs may begin in the same second, and must not share rooms."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{random.getrandbits(24):06x}"


@dataclass
class RunResult:
    """The result of a run of ``shape`` so far. ``verdict`` says why a search for a limit ended."""

    shape: Shape
    name: str = field(default_factory=_unique_name)
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    outcomes: list[Outcome] = field(default_factory=list)
    interrupted: bool = False
    verdict: str = ""

    @property
    def partial(self) -> bool:
        """Whether not all phases were played to their ends."""
        played = self.shape.limit is not None or len(self.outcomes) == len(self.shape.phases)
        return self.interrupted or not played or any(each.partial for each in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0 only if the run is complete, and nothing is lost, altered or stored twice."""
        if self.partial or not self.outcomes:
            return 1
        if self.shape.limit is not None:
            return 0 if all(each.kept for each in self.outcomes) else 1
        return 0 if all(each.whole for each in self.outcomes) else 1

    def write(self, folder: Path, samples: Samples) -> Path:
        """Write the result with the ``samples`` of a :class:`Recording` as JSON into ``folder``; return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}-{self.shape.name}.json"
        path.write_text(json.dumps(self.document(samples)), encoding="utf-8")
        return path

    def document(self, samples: Samples) -> dict[str, Any]:
        """The result. Times are seconds since ``began``."""
        began = self.began.timestamp()
        taken = since(samples, began)
        is_changed = self.shape != SHAPES.get(self.shape.name, self.shape)
        description = f"{self.shape.description}{', changed by options' if is_changed else ''}"
        return {
            "format": FORMAT,
            "run": self.name,
            "shape": {"name": self.shape.name, "description": description},
            "began": self.began.isoformat(),
            "ended": datetime.now(UTC).isoformat(),
            "partial": self.partial,
            "passed": self.exit_code == 0,
            "verdict": self.verdict,
            "phases": [each.document() | _place(each, began, taken) for each in self.outcomes],
            "samples": taken,
        }

    def text(self, *paths: Path) -> str:
        """The text to print at the end, with the ``paths`` of the result; the last line is that of the last phase."""
        blocks = ["\n".join(each.lines()) for each in self.outcomes]
        head = [f"result: {path}" for path in paths]
        if self.partial:
            head.insert(0, "partial: the run did not reach its end")
        if self.verdict:
            head.insert(0, self.verdict)
        return "\n\n".join(["\n".join(head), *blocks])


def _place(outcome: Outcome, began: float, samples: Samples) -> dict[str, Any]:
    """When a phase began, in seconds of the run, and what was used until everything in it was stored."""
    begin = max(0.0, outcome.began - began)
    end = begin + max(outcome.seconds, outcome.readable_after)
    return {"began": round(begin, 3), "usage": usage(samples, begin, end)}
