"""What a day has at hand: one stage, its services, and how a day ends."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.lanes import Lanes
from faults.ledger import Row, judge
from faults.load import Load
from faults.operator import Operator
from faults.services import Backing
from faults.stage import FaultStage
from faults.template import ROOT, write_template
from loadtest.checker import Verdict
from loadtest.readback import drain_and_read, walk_all
from loadtest.target import Target
from localstage.errors import AlreadyRunning

FOLDER = ROOT / ".local" / "faults"
PATIENCE = 150.0
"""Seconds that a day may take to drain: the pauses of the retry lane before its fifth try are 2 + 8 + 32 + 128 s."""
READ_PATIENCE = 20.0
SETTLED = 3.0
"""Seconds that new queues get before anything is broken: RabbitMQ 3.10 writes half a second after a queue was declared
where its log is, and a kill -9 before that loses the queue's leader."""


@dataclass
class World:
    """A stage between proxies. Days share it, each with rooms of its own."""

    folder: Path = FOLDER
    say: Callable[[str], object] = print
    backing: Backing = field(init=False)
    stage: FaultStage = field(init=False)
    target: Target = field(init=False)
    lanes: Lanes = field(init=False)
    operator: Operator = field(init=False)

    def start(self) -> None:
        """Start everything, with empty data.

        Raises:
            localstage.errors.AlreadyRunning: another run uses this folder.
            localstage.errors.StageError, loadtest.client.LoadTestError: something did not start.
        """
        self._lock()
        self.backing = Backing(self.folder / "backing")
        self.backing.start()
        template = write_template(self.folder / "template")
        self.stage = FaultStage(self.folder / "stage", template, self.backing.environment())
        self.stage.forget()
        self.target = self.stage.start()
        self.lanes = Lanes(self.backing, lambda: self.stage.working("PersistEvents"))
        self.operator = Operator(self.target)
        time.sleep(SETTLED)

    def _lock(self) -> None:
        """Hold the folder until this process is gone: starting throws away its data."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._held = (self.folder / "run.lock").open("a", encoding="utf-8")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyRunning(f"fault days or a soak already run in {self.folder}; one at a time") from None

    def stop(self) -> None:
        """Stop what was started; works half-started."""
        if hasattr(self, "stage"):
            self.stage.stop()
        if hasattr(self, "backing"):
            self.backing.stop()
        if hasattr(self, "_held"):
            self._held.close()

    def heal(self) -> None:
        """End every fault."""
        self.backing.judge_dynamodb()
        self.backing.judge_sqs()
        self.backing.broker.pass_all()

    def redrive_all(self, patience: float = PATIENCE) -> int:
        """Redrive until nothing is dead any more; answers how many records moved.

        What an earlier redrive met and left is hidden from the next one for up to a minute.
        """
        moved = 0
        deadline = time.monotonic() + patience
        while self.lanes.drain(PATIENCE).dead and time.monotonic() < deadline:
            moved += self.operator.redrive()
            time.sleep(2)
        return moved

    @contextmanager
    def day(self, name: str, **load: Any) -> Iterator[Day]:
        """Load runs while the block breaks things; ``Day.end`` afterwards judges."""
        day = Day(self, name, Load(self.target, name, **load))
        try:
            yield day
        finally:
            self.heal()


@dataclass
class Day:
    """One scenario under way: ``load`` is started by whoever writes the day."""

    world: World
    name: str
    load: Load
    expected_dead: Mapping[bytes, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._retried = self.world.backing.watch.events

    def run_for(self, seconds: float) -> None:
        """Let the load go on."""
        time.sleep(seconds)

    def wait_until(self, met: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Let the load go on until ``met``, or for ``patience`` seconds: on a busy machine all takes longer."""
        deadline = time.monotonic() + patience
        while not met() and time.monotonic() < deadline:
            time.sleep(0.5)

    def expect(self, promise: bool, sentence: str) -> None:
        """Note a problem unless ``promise`` holds."""
        if not promise:
            self.problems.append(sentence)

    @contextmanager
    def without(self) -> Iterator[None]:
        """What the retry lane takes in this block belongs to another day."""
        before = self.world.backing.watch.events
        yield
        self._retried += self.world.backing.watch.events - before

    def walk(self) -> Verdict:
        """Read back what is there now, while the load goes on."""
        walk_all(self.load.checker, self.world.target.reader())
        return self.load.checker.verdict()

    def end(self, note: str | Callable[[], str] = "", *, patience: float = PATIENCE, heal: bool = True) -> Row:
        """End faults (unless they are to last until the drain is over) and load, drain, read everything back, judge."""
        if heal:
            self.world.heal()
        self.load.stop()
        self.problems += self.load.troubles
        left = self.world.lanes.drain(patience)
        self.world.heal()
        drain_and_read(self.load.checker, self.world.target.reader(), patience=READ_PATIENCE)
        dead: Sequence[Any] = self.world.lanes.take_dead()
        return judge(
            self.name,
            time.monotonic() - self.began,
            self.load.checker,
            retried=self.world.backing.watch.events - self._retried,
            refused=self.load.refusals["unavailable"],
            dead=dead,
            expected_dead=self.expected_dead,
            left=left,
            note=note if isinstance(note, str) else note(),
            problems=self.problems,
        )
