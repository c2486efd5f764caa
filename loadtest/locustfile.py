"""``locust -f loadtest/locustfile.py --headless --shape baseline --scale 0.01`` against a running stage.

With ``--headless``, with Locust's web UI, with ``--processes 2``, or with ``--master`` and ``--worker`` on several
machines. The options are those of ``make load``, which starts a stage if none runs. The exit code is 0 only if
everything was accepted and is stored once, unchanged.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gevent
from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from loadtest.client.target import Target
from loadtest.report.page import write
from loadtest.runs.conductor import INTERRUPT, PHASE, RESULT, Conductor
from loadtest.runs.crew import Crew
from loadtest.runs.worker import Worker
from loadtest.samples.recording import Recording, nothing
from loadtest.shapes.catalog import SHAPES
from loadtest.shapes.options import add_options, shape_of
from loadtest.users.chat_readers import (
    ActiveUsersReader,
    ConversationsReader,
    LiveSubscriber,
    RoomHistoryReader,
    UserHistoryReader,
    WindowReader,
)
from loadtest.users.chat_writers import HttpWriter, WebSocketWriter
from loadtest.users.click_users import ClickReader, ClickSender
from loadtest.users.ride_users import (
    DayVerticalReader,
    RideSender,
    RidesReader,
    SeasonVerticalReader,
    SkiersOfDayReader,
)
from loadtest.users.stage_user import CREW
from localstage.client.errors import ClientError

__all__ = [
    "ActiveUsersReader",
    "ClickReader",
    "ClickSender",
    "ConversationsReader",
    "DayVerticalReader",
    "HttpWriter",
    "LiveSubscriber",
    "RideSender",
    "RidesReader",
    "RoomHistoryReader",
    "SeasonVerticalReader",
    "SkiersOfDayReader",
    "UserHistoryReader",
    "WebSocketWriter",
    "WindowReader",
]


class Session:
    """What this Locust process does: conducts, works, or both."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.options = environment.parsed_options
        self.runner: Any = environment.runner
        self.shape = shape_of(self.options)
        self.target = Target.find(self.options.http_url, self.options.websocket_url)
        self.conducts = not isinstance(self.runner, WorkerRunner)
        self.works = not isinstance(self.runner, MasterRunner)
        self.conductor: Conductor | None = None
        self.worker: Worker | None = None
        self.conducting: Any = None
        self.recording: Recording | None = None
        self.text = ""
        self.leaving = False

    def prepare(self) -> None:
        """Choose the users of the shape, and register for messages and signals."""
        used = [each for each in self.environment.user_classes if each.__name__ in self.shape.users]
        for each in used:
            each.fixed_count = self.shape.users[each.__name__]
        self.environment.user_classes[:] = used
        self.options.num_users = self.options.spawn_rate = sum(self.shape.users.values())
        if self.conducts:
            self.environment.process_exit_code = 1  # until the result is known
            self.runner.register_message(RESULT, lambda msg, **_: self.conductor and self.conductor.take(msg.data))
        if self.works:
            self.runner.register_message(PHASE, lambda msg, **_: self.worker and self.worker.on_phase(msg.data))
            self.runner.register_message(INTERRUPT, lambda **_: self.worker and self.worker.on_interrupt())
        gevent.signal_handler(signal.SIGINT, self.on_ctrl_c)

    def begin(self) -> None:
        """Begin a run, before its users are started."""
        if self.works:
            crew = Crew(self.target)
            setattr(self.environment, CREW, crew)
            self.worker = Worker(crew, lambda: self.runner.user_count, self._send_result)
        if self.conducts:
            self.recording = Recording(self.target)
            self.conductor = Conductor(self.shape, self._send, self._workers, say)

    def conduct(self) -> None:
        """Conduct the run, when all users are started."""
        if self.conductor is not None and self.conducting is None:
            self.conducting = gevent.spawn(self._conduct, self.conductor)

    def _conduct(self, conductor: Conductor) -> None:
        try:
            if self.recording is not None:
                self.recording.wait()
            if not conductor.interrupted:
                conductor.conduct()
            self._finish(conductor)
        except Exception:  # it is logged, and would leave the users running
            self.conducting = None
            self._leave()
            raise
        if self.environment.web_ui is None or self.leaving:
            self._leave()
        else:
            say(self.text)
            self.text = ""
            self.runner.stop()

    def _finish(self, conductor: Conductor) -> None:
        samples = self.recording.finish() if self.recording is not None else nothing("No samples were taken.")
        path = conductor.write(Path(self.options.results), samples)
        paths, failed = [path], ""
        try:
            paths.append(write(path))
        except Exception as error:  # noqa: BLE001 - the result is worth more than its page
            failed = f"the page was not written: {error!r}\n"
        self.text = failed + conductor.text(*paths)
        self.environment.process_exit_code = conductor.exit_code
        self.conducting = None

    def on_stop(self) -> None:
        """Locust stops the users before the end of the run: interrupt it, and wait for what happened so far."""
        if self.conducting is not None and self.conductor is not None:
            self.conductor.interrupt()
            self.conducting.join()

    def on_ctrl_c(self) -> None:
        """Interrupt a run; the second time end without reading back. Without a run end the process."""
        if not self.conducts:
            if self.worker is None or not self.worker.playing:
                self.runner.quit()
        elif self.conducting is None or self.conductor is None:
            self._leave()
        elif not self.leaving:
            self.leaving = True
            self.conductor.interrupt()
        else:
            self.conducting.kill()
            self._finish(self.conductor)
            self._leave()

    def _leave(self) -> None:
        """End this process."""
        if self.environment.web_ui is not None:
            self.environment.web_ui.stop()
        self.runner.quit()

    def _send(self, kind: str, message: Mapping[str, Any]) -> None:
        """Send ``message`` to every worker, with its number. Locust's own numbers have gaps after a worker is lost."""
        for number, client in enumerate([None] if self.works else self._clients()):
            self.runner.send_message(kind, {**message, "worker": number}, client)

    def _clients(self) -> list[str]:
        """The ids of the connected workers."""
        clients = self.runner.clients
        return sorted(each.id for each in [*clients.ready, *clients.spawning, *clients.running])

    def _send_result(self, part: Any) -> None:
        self.runner.send_message(RESULT, part)

    def _workers(self) -> int:
        return 1 if self.works else len(self._clients())


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


@events.init_command_line_parser.add_listener
def _arguments(parser: LocustArgumentParser) -> None:
    # They are read when Locust starts: another value in the form of its web UI would have no effect.
    add_options(parser, sorted(SHAPES), include_in_web_ui=False)


@events.init.add_listener
def _prepare(environment: Environment, **_: Any) -> None:
    try:
        session = Session(environment)
        session.prepare()
    except ClientError as error:
        sys.exit(f"headrace: {error}")
    events.test_start.add_listener(lambda **_: session.begin())
    events.spawning_complete.add_listener(lambda **_: session.conduct())
    events.test_stopping.add_listener(lambda **_: session.on_stop())
    if session.conducts:
        # After Locust's own tables, so that the result is printed last.
        events.quit.add_listener(lambda **_: say(session.text))
