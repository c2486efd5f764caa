"""The stage under test, its services, and a scenario while it runs."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from faults.harness.changes import Changers
from faults.harness.chat_load import Load, rooms_of
from faults.harness.edits import Editors
from faults.harness.lanes import Lanes
from faults.harness.ledger import Row, wrong_at_watchers, wrong_in_queues
from faults.harness.operator import Operator
from faults.harness.reactions import Reactors
from faults.harness.services import ProxiedServices
from faults.harness.stream_load import StreamLoad
from faults.harness.timeline import Timeline
from loadtest.checker.checker import Checker
from loadtest.checker.readback import walk_all
from loadtest.checker.verdict import Verdict
from loadtest.client.stage_process import SeparateStage, uninterrupted
from loadtest.client.stage_template import write_template
from loadtest.client.target import Target
from loadtest.client.watchers import Watchers
from localstage.client.running_stage import ROOT
from localstage.core.errors import AlreadyRunning
from localstage.core.locks import try_lock

PARAMETERS = {"RetryFirstPauseSeconds": "2", "PersistTimeoutSeconds": "20"}
EDITS = (
    ("VisibilityTimeout: 360", "VisibilityTimeout: 20"),
    # The shortest that the platform accepts. RabbitMQ gives up on a silent peer after one to two of them.
    (" PERSIST_QUEUES: ", ' BROKER_HEARTBEAT_SECONDS: "60"\n        PERSIST_QUEUES: '),
    ("Schedule: rate(5 minutes)", "Schedule: rate(1 minute)"),
)
"""Shorter durations than the template's, so that a scenario takes minutes instead of hours."""
FOLDER = ROOT / ".local" / "faults"
PICTURES = "pictures"
"""The folder in a harness's folder that has the timelines, as ``SCENARIO.svg``."""
PATIENCE = 150.0
"""Seconds that a scenario may take to drain. The retry lane pauses for 2 + 8 + 32 + 128 s before the fifth attempt."""
PUSHED_WITHIN = 5.0
"""Seconds in which the last live copies may come. What a watcher lacks then was lost, in a room that is quiet now."""
NOTICED_WITHIN = 120.0
"""Seconds in which the watchers must have everything after the next frame of each room: a busy machine fetches slowly.
Nothing else than this frame tells them of it so early: rooms are checked after nine minutes."""
CHAT = "chat"
WATCHERS = 10
"""Clients that follow the rooms of a scenario live, where one has watchers."""
SETTLED = 3.0
"""Seconds between the declaration of queues and the first fault. RabbitMQ stores the location of a queue's log half a
second after the declaration, and 4.0 a queue sometimes after two seconds; a kill -9 before that loses the queue."""


@dataclass
class Harness:
    """A stage behind proxies, as a context manager. Scenarios share it; each has separate rooms."""

    folder: Path = FOLDER
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the services and of the stage, beside those of this process."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    edits: Sequence[tuple[str, str]] = ()
    """Parameters of the template, and texts of it with what replaces them, beside those of all scenarios."""
    services: ProxiedServices = field(init=False)
    stage: SeparateStage = field(init=False)
    target: Target = field(init=False)
    lanes: Lanes = field(init=False)
    operator: Operator = field(init=False)
    _running: ExitStack = field(init=False, default_factory=ExitStack)

    def __enter__(self) -> Harness:
        """Start everything, with empty data.

        Raises:
            localstage.errors.AlreadyRunning: another run uses this folder.
            localstage.errors.StageError, localstage.client.errors.ClientError: something did not start.
        """
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        held = try_lock(self.folder / "run.lock")  # until this process ends: a start deletes its data
        if held is None:
            raise AlreadyRunning(f"fault scenarios or a soak already run in {self.folder}; one at a time")
        self._running.enter_context(held)
        self.services = ProxiedServices(
            self.folder / "services", self.variables, int(self.parameters.get("BrokerCount", "1"))
        )
        self._running.callback(self.services.stop)
        self.services.start()
        template = write_template(self.folder / "template", (*EDITS, *self.edits), {**PARAMETERS, **self.parameters})
        environment = {**self.variables, **self.services.environment()}
        self.stage = SeparateStage(self.folder / "stage", "--template", str(template), environment=environment)
        self._running.callback(self.stage.close)
        self.target = self.stage.start()
        self.services.websocket_url = self.target.websocket_url
        self.lanes = Lanes(self.services, self._working)
        self.operator = Operator(self.target)
        time.sleep(SETTLED)

    def _working(self) -> int:
        """The events that persist_events processes, or that wait for it."""
        counts = self.stage.status()["functions"]["PersistEvents"]
        return int(counts["busy"] + counts["waiting"])

    def _stop(self) -> None:
        with uninterrupted():
            self._running.close()

    def heal(self) -> None:
        """End every fault of the proxies."""
        for proxy in self.services.proxies:
            proxy.fault = None
        self.services.broker.pass_all()

    def redrive_all(self) -> int:
        """Redrive until the dead lane is empty; returns the number of records moved.

        Records that an earlier redrive received and did not move are invisible to the next one for up to a minute.
        """
        moved = 0
        deadline = time.monotonic() + PATIENCE
        while self.lanes.drain(PATIENCE).dead and time.monotonic() < deadline:
            moved += self.operator.redrive()
            time.sleep(2)
        return moved

    @contextmanager
    def scenario(
        self, name: str, stream: str = CHAT, *, watchers: int = 0, changes: bool = False, **load: Any
    ) -> Iterator[ScenarioRun]:
        """Run a scenario in the block, which starts the load of ``stream``, causes faults and calls ``finish``.

        So many ``watchers`` follow the rooms of chat live. With ``changes``, users edit, delete and react.
        """
        made = Load(self.target, name, **load) if stream == CHAT else StreamLoad(self.target, stream, **load)
        run = ScenarioRun(self, name if stream == CHAT else f"{stream}-{name}", made)
        if stream == CHAT and watchers:
            run.watchers = Watchers(self.target, name, rooms_of(name), watchers)
        if stream == CHAT and changes:
            run.changers = (Reactors(self.target, name), Editors(self.target, name))
        try:
            if run.watchers is not None:
                run.watchers.start()
            for changers in run.changers:
                changers.start()
            yield run
        finally:
            run.timeline.stop()
            if run.watchers is not None:
                run.watchers.stop()
            self.heal()


@dataclass
class ScenarioRun:
    """A scenario while it runs. ``load`` is a :class:`Load` of chat or a :class:`StreamLoad`."""

    harness: Harness
    name: str
    load: Any
    expected_dead: Mapping[bytes, str] = field(default_factory=dict)
    watchers: Watchers | None = None
    changers: Sequence[Changers] = ()
    most_again: float = math.inf
    """That of :func:`wrong_at_watchers`."""
    problems: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._retried = self.harness.services.taken.events
        self.harness.services.pushed.pairs.clear()
        lanes = Lanes(self.harness.services, working=lambda: 0)
        self.timeline = Timeline(lanes, lambda: self.load.accepted, self.harness.folder / "stage" / "logs")

    def load_through(self, outage: AbstractContextManager[object], seconds: float) -> None:
        """Start the load, and let it run before, during and after ``outage``, which lasts ``seconds``."""
        self.load.start()
        self.wait(3)
        with outage:
            self.wait(seconds)
        self.wait(3)

    def wait(self, seconds: float) -> None:
        """Wait while the load continues."""
        time.sleep(seconds)

    def wait_until(self, met: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Wait until ``met``, at most ``patience`` seconds, while the load continues."""
        deadline = time.monotonic() + patience
        while not met() and time.monotonic() < deadline:
            time.sleep(0.5)

    def expect(self, promise: bool, sentence: str) -> None:
        """Record a problem unless ``promise`` holds."""
        if not promise:
            self.problems.append(sentence)

    def read_back(self) -> Verdict:
        """Read what is stored now, while the load continues."""
        checker: Checker = self.load.checker
        walk_all(checker, self.harness.target.reader())
        return checker.verdict()

    def finish(self, note: str | Callable[[], str] = "", *, patience: float = PATIENCE, heal: bool = True) -> Row:
        """End the faults and the load, drain, read everything back and compare.

        With ``heal=False`` the faults last until the lanes are drained.
        """
        if heal:
            self.harness.heal()
        self.load.stop()
        self.problems += self.load.problems
        for changers in self.changers:
            changers.stop()
        left = self.harness.lanes.drain(patience)
        self.timeline.stop()
        self.harness.heal()
        notes = [note if isinstance(note, str) else note()]
        if self.watchers is not None:
            notes.append(self._look_at(self.watchers))
        for changers in self.changers:
            notes.append(changers.note())
            self.problems += changers.problems
        dead = self.harness.lanes.take_dead()
        found: Row = self.load.row(dead)
        self.expect(found.accepted > 0, "nothing was accepted")
        row = replace(
            found,
            scenario=self.name,
            seconds=time.monotonic() - self.began,
            retried=self.harness.services.taken.events - self._retried,
            dead=len(dead),
            note="; ".join(filter(None, [*notes, found.note])),
            problems=[*self.problems, *found.problems, *wrong_in_queues(dead, self.expected_dead, left)],
        )
        path = self.harness.folder / PICTURES / f"{self.name}.svg"
        self.timeline.draw(row, self.harness.services.outages, path)
        return row

    def _look_at(self, watchers: Watchers) -> str:
        """What the watchers have, before and after one more message in each room shows them what they lack."""

        def ids() -> list[str]:
            return [each for room in self.load.checker.newest(sys.maxsize).values() for each in room]

        def missing() -> int:
            return watchers.missing(ids())

        self.wait_until(lambda: not missing(), PUSHED_WITHIN)
        before = missing()
        for room in rooms_of(self.name):
            self.load.send_one("the next frame", room)
        self.wait_until(lambda: not missing(), NOTICED_WITHIN)
        services, wanted = self.harness.services, len(ids()) * WATCHERS
        stored, pairs = services.stored.by_id, services.pushed.pairs
        counts = {
            "missing": missing(),
            "repeated": watchers.repeated,
            "pushed": pairs.total(),
            "pushedAgain": pairs.total() - len(pairs),
            "fetched": watchers.fetched,
            "fetchedAgain": watchers.fetched + len(pairs) - wanted,
        }
        self.problems += wrong_at_watchers(counts, wanted, self.most_again)
        works_at = {message_id: services.works_at(at) for message_id, at in list(stored.items())}
        delay, noticed = (max(watchers.delays(since), default=0.0) for since in (stored, works_at))
        times = f"delay={delay:.1f}s noticedAfter={noticed:.1f}s"
        words = " ".join(f"{name}={count}" for name, count in counts.items())
        return f"watchers: {words} {times}, {before} by the next frame after a pause"
