"""The base of all Locust users."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import ClassVar, TypeVar

from locust import User, task
from locust.env import Environment
from locust.exception import StopUser

from loadtest.client.websocket import WebSocket
from loadtest.runs.chat_work import ChatWork
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi

Connection = TypeVar("Connection", HttpApi, WebSocket)
TIMEOUT = 30.0
"""Seconds until an HTTP request has no answer."""


class StageUser(User):
    """Plays its part in one phase: connects, waits for the others, and acts for each arrival until there are no more.

    Subclasses act, and connect where they need a connection.
    """

    abstract = True

    run_of: ClassVar[Callable[[], PhaseRun | None]]
    """Returns the phase that is playing."""
    kind = ""
    """The kind in the load."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._opened = ExitStack()
        self._run = type(self).run_of()
        if self._run is not None:
            self.number = self._run.join(self.kind)
            self.target = self._run.target

    @task
    def play(self) -> None:
        """Play the phase, and end."""
        run = self._run
        if run is None:  # it could not begin
            raise StopUser
        try:
            self._connect(run)
            while (arrival := run.take(self.kind)) is not None:
                self.act(run, arrival)
        except ClientError as error:
            run.fail(f"{self.kind} {self.number}: {error}")
        except Exception as error:
            run.fail(f"{self.kind} {self.number}: {type(error).__name__}: {error}")
            raise StopUser from error
        finally:
            self._opened.close()
            run.leave()
        raise StopUser

    def _connect(self, run: PhaseRun) -> None:
        """Connect, and wait for all others, so that connecting is not measured."""
        try:
            self.connect(run)
        except ClientError as error:
            run.fail(f"{self.kind} {self.number}: {error}")
        finally:
            run.ready()

    def connect(self, run: PhaseRun) -> None:
        """Prepare for ``run``, before it is measured.

        Raises:
            ClientError: this user cannot take part.
        """

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Do what ``arrival`` says.

        Raises:
            ClientError: this user cannot continue.
        """

    def opened(self, connection: Connection) -> Connection:
        """A connection that is closed at the end."""
        return self._opened.enter_context(closing(connection))

    def place_of(self, run: PhaseRun) -> int:
        """This user's number among those of its kind in all workers."""
        return self.number * run.place.workers + run.place.worker

    @property
    def chat(self) -> ChatWork:
        """The chat work of the phase."""
        assert self._run is not None  # noqa: S101 - users without a phase end at once
        assert isinstance(self._run.work, ChatWork)  # noqa: S101 - the catalog gives chat users chat phases only
        return self._run.work

    def report(self, protocol: str, name: str, seconds: float, size: int, error: Exception | None = None) -> None:
        """Tell Locust of a request, for its own tables."""
        self.environment.events.request.fire(
            request_type=protocol,
            name=name,
            response_time=seconds * 1000,
            response_length=size,
            exception=error,
            context={},
        )
