"""Read and write units that the tables of a local stage consumed, and those that were throttled: its DynamoDB emulator
counts them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import urllib3

from localstage.core.errors import NotRunning
from localstage.core.statefile import StateFile

ANSWER_SECONDS = 0.5
PATH = "/consumed-capacity"
KINDS = ("read", "write", "throttled")


class ConsumedCapacity:
    """The units of each table and its indexes. ``folder`` is the state folder of the stage."""

    def __init__(self, folder: Path) -> None:
        self._state_file = StateFile(folder)
        self._pool = urllib3.PoolManager(timeout=urllib3.Timeout(total=ANSWER_SECONDS), retries=False)
        self._before = self._consumed()

    @property
    def known(self) -> bool:
        """Whether the stage's DynamoDB has answered."""
        return self._before is not None

    def take(self, seconds: float) -> dict[str, float]:
        """Units per second in the last ``seconds``, as ``RoomsTable read``. Empty if they are unknown."""
        now, before = self._consumed(), self._before
        if now is None:
            return {}
        self._before = now
        if before is None:
            return {}
        return {name: _since(before.get(name, 0.0), units) / seconds for name, units in now.items()}

    def _consumed(self) -> dict[str, float] | None:
        """Units since the emulator's start; None while the stage stops or starts, or with another DynamoDB."""
        try:
            variables, *_ = self._state_file.variables().values()
            headers = {"X-Amz-Security-Token": variables.get("AWS_SESSION_TOKEN", "")}
            answer = self._pool.request("GET", variables["AWS_ENDPOINT_URL_DYNAMODB"] + PATH, headers=headers)
            if answer.status != HTTPStatus.OK:
                return None
            tables: Mapping[str, Any] = answer.json()
            return {
                f"{name.rpartition('-')[2]} {kind}": float(units[kind])
                for name, units in tables.items()
                for kind in KINDS
            }
        except (OSError, ValueError, LookupError, NotRunning, urllib3.exceptions.HTTPError):
            return None


def _since(before: float, now: float) -> float:
    return now - before if now >= before else now  # an emulator that was started again counts from 0
