"""``locust -f loadtest/locustfile.py --headless --shape baseline --scale 0.01`` against a running stage.

With ``--headless``, with Locust's web UI, with ``--processes 2``, or with ``--master`` and ``--worker`` on several
machines. The options are those of ``make load``, which starts a stage if none runs. The exit code is 0 only if
everything was accepted and is stored once, unchanged.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gevent
from locust import events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from loadtest.client.target import Target
from loadtest.runs.phase_run import PhaseRun, failed_part
from loadtest.runs.phases import INTERRUPT, PHASE, RESULT, Phases
from loadtest.runs.place import Place
from loadtest.runs.result import RunResult
from loadtest.samples.recording import Recording
from loadtest.sending.delivery import ProgressLines
from loadtest.shapes.catalog import SHAPES
from loadtest.shapes.options import add_options, shape_of
from loadtest.shapes.shape import Load, Phase
from loadtest.users.questions import QUESTIONS, Asking, ConversationsReader
from loadtest.users.stage_user import StageUser
from loadtest.users.writers import HttpWriter, WebSocketWriter
from localstage.client.errors import ClientError

KINDS: dict[str, type[StageUser]] = {
    **dict.fromkeys(QUESTIONS, Asking),
    "ConversationsReader": ConversationsReader,
    "HttpWriter": HttpWriter,
    "WebSocketWriter": WebSocketWriter,
}
"""The user class of each kind."""


class Session:
    """What this Locust process does: conducts, works, or both."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.options = environment.parsed_options
        self.runner: Any = environment.runner
        self.target = Target.find(self.options.http_url, self.options.websocket_url)
        self.conducts = not isinstance(self.runner, WorkerRunner)
        self.works = not isinstance(self.runner, MasterRunner)
        self.run: PhaseRun | None = None
        self.interrupted = ""
        """The run that was interrupted."""
        self.text = ""
        self.leaving = False

        shape = shape_of(self.options)
        classes = [[self._class_of(load, number) for load in phase.loads] for number, phase in enumerate(shape.steps)]
        environment.user_classes[:] = [each for phase in classes for each in phase]
        self.phases = Phases(shape, classes, self._send, self._workers, self._begin, self._end, say)
        self.phases.runner = self.runner
        environment.shape_class = self.phases
        if self.conducts:
            environment.process_exit_code = 1  # until the result is known
            self.runner.register_message(RESULT, lambda msg, **_: self.phases.take(msg.data))
        if self.works:
            ProgressLines(self._say_why)
            self.runner.register_message(PHASE, lambda msg, **_: self._on_phase(msg.data))
            self.runner.register_message(INTERRUPT, lambda **_: self._on_interrupt())
        if self.options.headless:
            logging.getLogger("locust.stats_logger").disabled = True  # its wide tables repeat what the result says
        if (web := environment.web_ui) is not None:
            environment.host = self.target.http_url  # otherwise the page asks for one
            say(f"headrace: open http://{web.host or '127.0.0.1'}:{web.port} and press Start; Ctrl-C ends")
        gevent.signal_handler(signal.SIGINT, self._on_ctrl_c)

    def _class_of(self, load: Load, number: int) -> type[StageUser]:
        """The users of ``load`` in phase ``number``, a class of their own: Locust's shapes choose users by class."""
        values = {"fixed_count": load.users, "kind": load.kind, "run_of": staticmethod(lambda: self.run)}
        base = KINDS[load.kind]
        return type(base)(f"{load.kind}{number}", (base,), values)

    def _say_why(self, senders_wait: str) -> None:
        if self.run is not None:
            phase, accepted = self.run.phase, self.run.work.sent()["accepted"]
            say(f"{phase.name}: {accepted:,} {phase.events} accepted; {senders_wait}")

    def _begin(self) -> None:
        self.recording = Recording(self.target)
        self.recording.wait()

    def _end(self, result: RunResult) -> None:
        # Imported at the end: matplotlib takes a second to import, and memory of the load generator.
        from loadtest.report.page import write

        samples = self.recording.finish()
        if not self.target.issues and (stack := os.environ.get("STACK")):
            from loadtest.samples.cloudwatch import with_dynamodb

            samples = with_dynamodb(samples, stack, result.began.timestamp())
        path = result.write(Path(self.options.results), samples)
        paths, failed = [path], ""
        try:
            paths.append(write(path))
        except Exception as error:  # noqa: BLE001 - the result is worth more than its page
            failed = f"the page was not written: {error!r}\n"
        self.text = failed + result.text(*paths)
        self.environment.process_exit_code = result.exit_code
        if self.environment.web_ui is not None and not self.leaving:
            say(self.text)
            self.text = ""

    def on_stop(self) -> None:
        """Somebody stops the users before the end of the run: interrupt it, and wait for what happened so far."""
        if not self.phases.idle.is_set() and self.runner.shape_greenlet is not gevent.getcurrent():
            self.phases.interrupt()
            self.phases.idle.wait()

    def _on_ctrl_c(self) -> None:
        """Interrupt a run; the second time end without a result. Without a run end the process."""
        if not self.conducts:
            if self.run is None or self.run.finished:
                self.runner.quit()
        elif self.phases.idle.is_set():
            self._leave()
        elif not self.leaving:
            self.leaving = True
            self.phases.interrupt()
            self.phases.idle.wait()
            self._leave()
        else:
            os._exit(1)

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

    def _workers(self) -> int:
        return 1 if self.works else len(self._clients())

    def _on_phase(self, message: Mapping[str, Any]) -> None:
        """Begin a phase, before Locust starts its users; its result is sent when it is read back."""
        place = Place(**{**message["place"], "worker": message["worker"]})
        before = self.run.work if self.run is not None and self.run.place.run == place.run else None
        self.run = None
        try:
            run = PhaseRun(Phase.of_message(message["phase"]), place, self.target, before, self.options.requests)
        except (ClientError, OSError) as error:  # OSError: the file of the requests cannot be written
            self.runner.send_message(RESULT, failed_part(place, str(error)))
            return
        if self.interrupted == place.run:
            run.interrupt()
        self.run = run
        threading.Thread(target=self._play, args=(run,), daemon=True).start()

    def _play(self, run: PhaseRun) -> None:
        try:
            part = run.run()
        except Exception as error:  # noqa: BLE001 - Phases waits for a result
            traceback.print_exc()
            part = failed_part(run.place, f"{type(error).__name__}: {error}")
        self.runner.send_message(RESULT, part)

    def _on_interrupt(self) -> None:
        """Interrupt the phase that is being played."""
        if self.run is not None:
            self.interrupted = self.run.place.run
            self.run.interrupt()

    def on_spawned(self) -> None:
        """All users of the phase are started."""
        if not self.conducts and self.runner.spawning_greenlet is not None:
            self.runner.spawning_greenlet.join()  # the master does not wait long for a slow worker
        if self.run is not None:
            self.run.spawned()


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
    except ClientError as error:
        sys.exit(f"headrace: {error}")
    events.spawning_complete.add_listener(lambda **_: session.on_spawned())
    if session.conducts:
        events.test_stopping.add_listener(lambda **_: session.on_stop())
        # After what Locust says at its end, so that the result is printed last.
        events.quit.add_listener(lambda **_: say(session.text))
