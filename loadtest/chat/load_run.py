"""A load run: what is left to send, and its result."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field

from loadtest.checker.checker import Checker
from loadtest.checker.durability_probe import DurabilityProbe
from loadtest.checker.readback import drain_and_read
from loadtest.checker.verdict import Verdict
from loadtest.client.target import Target
from localstage.client.errors import ClientError

ROOMS = 16


@dataclass(frozen=True)
class Report:
    """The result of a run; the last line of ``text`` is the checker's."""

    text: str
    exit_code: int


@dataclass
class Run:
    """Shared by all users of one run. Times are ``time.monotonic`` seconds."""

    target: Target
    messages: int
    connections: int
    name: str = field(default_factory=lambda: time.strftime("%Y%m%d-%H%M%S", time.gmtime()))
    checker: Checker = field(default_factory=Checker)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reader = self.target.reader()
        self.probe = DurabilityProbe(self.reader, outstanding=1)
        self._left = self.messages
        self._joined = self._connected = self._gone = 0
        self._all_ready = threading.Event()
        self.started = self.ended = 0.0
        self._cpu = 0.0

    def join(self) -> int:
        """Add a user; return its number, from 0."""
        self._joined += 1
        return self._joined - 1

    def room(self, number: int) -> str:
        """The room of user ``number``."""
        return f"load-{self.name}-{number % ROOMS:02d}"

    def ready(self) -> None:
        """Record that a user is connected or could not connect; return when all users are."""
        self._connected += 1
        if self._connected == self.connections:
            self.probe.start()
            self.started = time.monotonic()
            self._cpu = time.process_time()
            self._all_ready.set()
        self._all_ready.wait()

    def take(self, count: int) -> int:
        """Take up to ``count`` of the remaining messages."""
        taken = 0 if self.problems else min(count, self._left)
        self._left -= taken
        return taken

    def fail(self, sentence: str) -> None:
        """Record that the run cannot continue. Users stop at their next message."""
        self.problems.append(sentence)

    def leave(self) -> bool:
        """Record that a user is done; return True for the last one."""
        self._gone += 1
        if self._gone == self.connections:
            self.ended = time.monotonic()
            self._cpu = time.process_time() - self._cpu
        return self._gone == self.connections

    def report(self, title: str) -> Report:
        """Read everything back and compare; the exit code is 0 only if everything was accepted and stored."""
        if not self.ended:
            accepted = self.checker.verdict().accepted
            return Report("\n".join([f"{title}: stopped early; {accepted:,} accepted", *self.problems]), 1)
        durable = self.probe.finish()
        try:
            drained = drain_and_read(self.checker, self.reader)
        except ClientError as error:
            self.fail(str(error))
            drained = time.monotonic()
        verdict = self.checker.verdict(durable)
        good = verdict.whole and verdict.accepted == self.messages and not self.problems
        return Report("\n".join([*self._lines(title, verdict, drained), verdict.line()]), 0 if good else 1)

    def _lines(self, title: str, verdict: Verdict, drained: float) -> list[str]:
        sending, storing = self.ended - self.started, drained - self.started
        lines = [
            f"{title}, {self.connections} connections, {len(self.checker.rooms())} rooms",
            f"  accepted             {verdict.accepted / sending:8,.0f} messages/s   ({sending:.1f} s)",
            f"  accepted and stored  {verdict.stored / storing:8,.0f} messages/s   (readable after {storing:.1f} s)",
            f"  client's CPU         {self._cpu / sending:8.0%} of one of {os.cpu_count()} cores",
            "  lanes                " + ", ".join(f"{lane} {count:,}" for lane, count in self.checker.lanes.items()),
        ]
        lines += [f"  error {code}: {count:,}" for code, count in sorted(self.checker.errors.items())]
        lines += [f"  {kind}: {', '.join(names)}" for kind, names in verdict.examples.items()]
        return lines + [f"  {sentence}" for sentence in self.problems[:5]]
