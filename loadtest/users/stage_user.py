"""The base of all Locust users."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from locust import User, task
from locust.env import Environment
from locust.exception import StopUser

from loadtest.client.chat_events import iso
from loadtest.client.credentials import Sender
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.sending.transports import NOT_ACCEPTED
from localstage.client.errors import ClientError, HttpError, TokenRefused
from localstage.client.http_api import HttpApi

TIMEOUT = 30.0
"""Seconds until an HTTP request has no answer."""
WINDOW = timedelta(minutes=10)
START = 30.0
"""Seconds after the beginning of a phase in which a question about what is not stored yet is no failure."""


def last_minutes() -> dict[str, str]:
    """The parameters of a question about the last ten minutes."""
    now = datetime.now(UTC)
    return {"from": iso(now - WINDOW), "to": iso(now)}


class StageUser(User):
    """Plays its part in one phase: connects, waits for the others, and acts for each arrival until there are no more.

    Subclasses act, and connect and disconnect where they need a connection.
    """

    abstract = True

    run_of: ClassVar[Callable[[], PhaseRun | None]]
    """Returns the phase that is playing."""
    kind = ""
    """The kind in the load, which is the name of the class in this package."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
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
            self.disconnect()
            run.leave(self.kind)
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
        raise NotImplementedError

    def disconnect(self) -> None:
        """Close what is open."""

    def place_of(self, run: PhaseRun) -> int:
        """This user's number among those of its kind in all workers."""
        return self.number * run.place.workers + run.place.worker

    def sender(self, run: PhaseRun) -> Sender:
        """Who sends in ``run``: a different sender for each user of a kind.

        Raises:
            TokenRefused: there is no token for this user.
        """
        return self.target.sender(self.place_of(run), trusted=bool(run.phase.people))

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


class Asking(StageUser):
    """Sends one question for each arrival, without retries, and measures the answer."""

    abstract = True
    scope = "analytics:read"
    question = ""
    api: HttpApi | None = None

    def connect(self, run: PhaseRun) -> None:
        """Get a token."""
        token = self.target.token_for(f"load-{self.kind}-{self.number}", self.scope)
        self.api = HttpApi(self.target.http_url, token, timeout=TIMEOUT, connections=1, attempts=1)

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Ask."""
        assert self.api is not None  # noqa: S101 - for mypy: connect() was called
        began = time.perf_counter() if arrival.due is None else arrival.due
        failed: HttpError | None = None
        try:
            self.ask(self.api, run)
        except HttpError as error:
            if error.status == 404 and time.monotonic() - run.started < START:
                run.measurements.count("not there yet")  # nothing that it asks for is stored so early
                return
            if error.is_unauthorized:
                raise TokenRefused(NOT_ACCEPTED) from None
            failed = error
            run.measurements.count(f"failed {error.code}")
        seconds = time.perf_counter() - began
        run.measurements.record(self.question, seconds)
        run.measurements.count("questions")
        self.report("HTTP", self.question, seconds, 1, failed)

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Send the question.

        Raises:
            HttpError: it was not answered.
        """
        raise NotImplementedError

    def disconnect(self) -> None:
        """Close the connection."""
        if self.api is not None:
            self.api.close()
            self.api = None
