"""The result of a phase, from the parts of all workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from loadtest.checker.findings import FAULTS
from loadtest.checker.verdict import Latency, last_line, milliseconds
from loadtest.measured.measurements import Merged
from loadtest.shapes.shape import Limit, Phase

EXAMPLES, PROBLEMS = 5, 5
LATE = 20
"""One event or question of so many may be unsent at the end of a phase with a rate."""


class Outcome:
    """A phase's result. ``parts`` are the messages of :class:`loadtest.runs.phase_run.PhaseRun`, one per worker."""

    def __init__(self, phase: Phase, parts: Sequence[Mapping[str, Any]], workers: int) -> None:
        self.phase = phase
        self._parts = parts
        self.measured = Merged()
        for part in parts:
            self.measured.add(part["measurements"])
        self.read_back = len(parts) == workers and all(part["found"] is not None for part in parts)
        self.problems = [sentence for part in parts for sentence in part["problems"]][:PROBLEMS]
        if len(parts) < workers:
            self.problems.append(f"{workers - len(parts)} of {workers} workers sent no result")
        self.interrupted = any(part["interrupted"] for part in parts)
        self.began = min((part["began"] for part in parts if part["began"]), default=0.0)
        self.seconds = max((part["seconds"] for part in parts), default=0.0)
        self.readable_after = max((part["readable_after"] for part in parts), default=0.0)
        self.unsent: int = sum(part["unsent"] for part in parts)
        self.users = sum(part["users"] for part in parts)

    def sent(self, name: str) -> int:
        """The sum of a count of what was sent."""
        return sum(part["sent"][name] for part in self._parts)

    def found(self, name: str) -> int:
        """The sum of a count of what was read back."""
        return sum((part["found"] or {}).get(name, 0) for part in self._parts)

    def counted(self, name: str) -> Counter[str]:
        """The sum of the counts by name of what was sent."""
        return sum((Counter(part["sent"][name]) for part in self._parts), Counter())

    @property
    def failed(self) -> int:
        """How many questions were not answered."""
        return sum(count for name, count in self.measured.counts.items() if name.startswith("failed "))

    @property
    def partial(self) -> bool:
        """Whether the phase ended early, or was not read back."""
        return self.interrupted or bool(self.problems) or not self.read_back

    @property
    def kept(self) -> bool:
        """Whether everything accepted is stored once, unaltered, and answered rightly, as far as it was read back."""
        return not any(map(self.found, FAULTS))

    @property
    def whole(self) -> bool:
        """Whether in addition everything was accepted, and the phase ran to its end."""
        ended = not self.partial and not self._late
        return self.kept and ended and self.sent("accepted") == self.sent("attempted") and not self.failed

    @property
    def _due(self) -> int:
        return int(self.sent("attempted") + self.measured.counts["questions"] + self.unsent)

    @property
    def _late(self) -> bool:
        """Whether too much was not sent: anything of a number of events, or over one in ``LATE`` of a rate."""
        return self.unsent * LATE > self._due if self.phase.seconds else self.unsent > 0

    def latency(self, name: str) -> Latency:
        """A measured latency."""
        found = self.measured.latencies.get(name)
        return Latency(None, None) if found is None else Latency.of(found)

    def too_much(self, limit: Limit) -> str:
        """Why this phase was too much; empty if it was not."""
        p99 = self.latency("ack").p99
        if waiting := self.found("waiting"):
            return f"{waiting:,} events are not stored yet"
        if not self.kept or self.sent("accepted") < self.sent("attempted"):
            return "the checker found a fault" if not self.kept else "not everything was accepted"
        if p99 is not None and p99 > limit.ack_p99:
            return f"acks p99={milliseconds(p99)}, over {milliseconds(limit.ack_p99)}"
        if retried := self.counted("lanes")["retry"]:
            return f"{retried:,} events took the retry lane"
        if self._late:
            return f"{self.unsent:,} of {self._due:,} events were not sent in time"
        return ""

    def lines(self) -> list[str]:
        """The lines to print: what went wrong, and last the checker's, or the questions' where nothing was sent."""
        shown = [f"{self.phase.name}, {self.users} connections"]
        if self.interrupted:
            shown.append(f"  partial: interrupted after {self.seconds:.1f} s")
        if self.unsent and self.phase.seconds:
            shown.append(f"  not sent in time: {self.unsent:,}")
        failed = {name: count for name, count in self.measured.counts.items() if name.startswith("failed ")}
        shown += [f"  {name}: {count:,}" for name, count in sorted(failed.items())]
        for kind, counts in (("error", self.counted("errors")), ("sent again", self.counted("retries"))):
            shown += [f"  {kind} {code}: {count:,}" for code, count in sorted(counts.items())]
        shown += [f"  {kind}: {', '.join(names[:EXAMPLES])}" for kind, names in self._examples().items()]
        shown += [f"  {sentence}" for sentence in self.problems]
        if not self.read_back:
            shown.append("  partial: not everything was read back")
        if waiting := self.found("waiting"):
            shown.append(f"  {waiting:,} accepted events are not stored yet: the lanes still hold as many")
        return [*shown, self.last_line()]

    def last_line(self) -> str:
        """The line that sums the phase up."""
        if not self.phase.writes:
            asked = self.measured.counts["questions"]
            return f"questions={asked} failed={self.failed} {self.phase.name} {self.latency(self._question())}"
        counts = {name: self.found(name) for name in ("stored", *FAULTS)} | {"accepted": self.sent("accepted")}
        fault = "duplicated" if self.phase.stream == "chat" else "wrong"
        return last_line(counts, fault, self.latency("ack"), self.latency("durable"))

    def _question(self) -> str:
        return next((name for name in self.measured.latencies if name not in ("ack", "durable")), "")

    def _examples(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for part in self._parts:
            for kind, names in (part["found"] or {}).get("examples", {}).items():
                found.setdefault(kind, []).extend(names)
        return found

    def document(self) -> dict[str, Any]:
        """The result as JSON; seconds and counts. ``histogram`` is HDR's compressed format."""
        return {
            "phase": asdict(self.phase),
            "whole": self.whole,
            "partial": self.partial,
            "problems": self.problems,
            "users": self.users,
            "seconds": round(self.seconds, 3),
            "readableAfter": round(self.readable_after, 3),
            "sent": {name: self.sent(name) for name in ("attempted", "accepted", "refused", "reconnections")}
            | {"unsent": self.unsent}
            | {name: dict(self.counted(name)) for name in ("lanes", "errors", "retries")},
            "found": {name: self.found(name) for name in ("stored", *FAULTS)} if self.read_back else None,
            "examples": self._examples(),
            "counts": dict(self.measured.counts),
            "latencies": {
                name: each.summary() | {"histogram": each.encoded()}
                for name, each in sorted(self.measured.latencies.items())
            },
            "timeline": self.measured.timeline(),
        }
