"""The base of the Locust users that post events."""

from __future__ import annotations

import time
from typing import Any

from loadtest.client.credentials import Credential
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.http_sender import HttpSender, PostRequest, Recorder
from loadtest.sending.retry import RECONNECTIONS
from loadtest.users.stage_user import NOT_ACCEPTED, TIMEOUT, StageUser
from localstage.client.errors import TokenRefused
from localstage.client.http_api import HttpApi


class Posting(StageUser):
    """Posts one event or a batch at a time, over one connection, until it is accepted or refused."""

    abstract = True
    posts = ""
    """What it posts, for Locust's tables."""
    _api: HttpApi | None = None

    def open(self, token: Credential, recorder: Recorder) -> None:
        """Prepare for posting with ``token``."""
        self._api = HttpApi(self.target.http_url, token, timeout=TIMEOUT, connections=1)
        self._sender = HttpSender(self._api, recorder, attempts=RECONNECTIONS)

    def post(self, run: PhaseRun, request: PostRequest[Any], due: float | None) -> None:
        """Post ``request``, whose latency counts from ``due``, by default from now: through all attempts.

        Raises:
            TokenRefused: the stage does not accept the token any more.
        """
        began = time.perf_counter() if due is None else due
        if not self._sender.send(request, due=began):
            run.measurements.count("incomplete requests")
        name = f"POST {self.posts}" if len(request.events) == 1 else f"POST {len(request.events)} {self.posts}"
        self.report("HTTP", name, time.perf_counter() - began, len(request.events))
        if self._sender.is_unauthorized:
            raise TokenRefused(NOT_ACCEPTED)

    def disconnect(self) -> None:
        """Close the connection."""
        if self._api is not None:
            self._api.close()
            self._api = None
