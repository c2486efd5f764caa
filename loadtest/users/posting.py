"""The base of the Locust users that post events."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from loadtest.client.credentials import Credential
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.delivery import Delivery, Recorder
from loadtest.sending.transports import HttpTransport, Request
from loadtest.users.stage_user import TIMEOUT, StageUser
from localstage.client.http_api import HttpApi


class Posting(StageUser):
    """Posts one event or a batch at a time, over one connection, until it is accepted or refused."""

    abstract = True
    posts = ""
    """What it posts, for Locust's tables."""
    _api: HttpApi | None = None

    def open(self, token: Credential, request: Request, recorder: Recorder[Any]) -> None:
        """Prepare for posting with ``token``."""
        self._api = HttpApi(self.target.http_url, token, timeout=TIMEOUT, connections=1)
        self._request = request
        transport = HttpTransport(self._api, request, recorder.retried)
        self._delivery: Delivery[Any] = Delivery(transport, recorder)

    def post(self, run: PhaseRun, events: Sequence[Any], due: float | None) -> None:
        """Post ``events``; their latency counts from ``due``, by default from now: through all attempts.

        Raises:
            TokenRefused: the stage does not accept the token any more.
        """
        began = time.perf_counter() if due is None else due
        if not self._delivery.send(events, began):
            run.measurements.count("incomplete requests")
        name = f"POST {self.posts}" if len(events) == 1 else f"POST {len(events)} {self.posts}"
        self.report("HTTP", name, time.perf_counter() - began, len(events))
        if random.random() < run.phase.repeated and self._api is not None:
            self._api.post(*self._request([each.event() for each in events]))

    def disconnect(self) -> None:
        """Close the connection."""
        if self._api is not None:
            self._api.close()
            self._api = None
