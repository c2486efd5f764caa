"""An operator who uses the platform's own routes for status, dead letters and parked messages."""

from __future__ import annotations

import math
import time
from typing import Any

from loadtest.client.target import Target
from localstage.client.errors import HttpError


class Operator:
    """A client with the scope ``ops``."""

    def __init__(self, target: Target) -> None:
        self._api = target.http("operator", "ops", timeout=40.0)

    def status(self) -> dict[str, Any]:
        """GET /status."""
        return self._api.get("/status")

    def redrive(self, slices: float = math.inf) -> int:
        """Redrive to the end, or at most ``slices`` slices; returns the number of records moved."""
        body: dict[str, Any] = {"rate": 500}
        while True:
            try:
                answer = self._api.post("/dead-letters/redrive", body)
            except HttpError as error:
                if not error.retryable:
                    raise
                time.sleep(1)
                continue
            slices -= 1
            if answer["done"] or not slices:
                return int(answer["moved"])
            body = {"continuation": answer["continuation"]}

    def empty_parking_queue(self) -> int:
        """Move the parking queue to the retry lane; returns the number of records."""
        returned = 0
        while True:
            answer = self._api.post("/parked/return", {"lane": "retry", "rate": 100})
            returned += int(answer["returned"])
            if not answer["left"]:
                return returned
