"""The depths of the queues that hold events, by ``GET /status``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from localstage.client.errors import ClientError
from localstage.client.http_api import HttpApi

LANES = ("main", "retry", "dead", "parking")
"""The queues that hold events: the lanes, and the parking queue."""


class Lanes:
    """The depths of all queues, by ``GET /status``. ``operator`` has the scope ops; without one they are unknown."""

    def __init__(self, operator: HttpApi | None) -> None:
        self._operator = operator

    @property
    def known(self) -> bool:
        """Whether a token has the scope ops."""
        return self._operator is not None

    def depths(self) -> dict[str, int | None]:
        """The depth of each of ``LANES``; None if it is not known."""
        if self._operator is not None:
            with suppress(ClientError, KeyError, TypeError, AttributeError):
                return depths_of(self._operator.get("/status"))
        return dict.fromkeys(LANES)

    def waiting(self) -> int:
        """How many events the main and the retry lane hold; 0 if it is not known."""
        found = self.depths()
        return (found["main"] or 0) + (found["retry"] or 0)

    def waiting_of(self, missing: int) -> int:
        """How many of ``missing`` accepted events may be in the lanes, and so are not lost."""
        return min(missing, self.waiting()) if missing else 0

    def close(self) -> None:
        """Close the connections."""
        if self._operator is not None:
            self._operator.close()


def depths_of(status: Mapping[str, Any]) -> dict[str, int | None]:
    """The depth of each of ``LANES`` in the answer of ``GET /status``; None if it is not known."""
    lanes = status["lanes"]
    queues = lanes["main"].get("queues")
    return {
        "main": None if queues is None else sum(int(each["ready"]) for each in queues.values()),
        **{name: _sqs(lanes[name]) for name in ("retry", "dead")},
        "parking": lanes["parked"].get("ready"),
    }


def _sqs(lane: Mapping[str, Any]) -> int | None:
    if lane["state"] not in ("empty", "holding"):
        return None
    return sum(int(value) for name, value in lane.items() if name != "state")
