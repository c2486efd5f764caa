"""Reads the parts of an operators' answer in parallel, within a time, and keeps what was read for some seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import BrokerUnavailable, HeadraceError
from headrace.core.times import SECOND, Clock


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part that could not be read, and why; ``away``: its service is unavailable."""

    reason: str
    away: bool = False

    def to_body(self) -> dict[str, Any]:
        """The part as an answer shows it."""
        return {"state": "away" if self.away else "unknown", "reason": self.reason}


class Parts:
    """What the functions ``readers`` return, by name; ``Unknown`` for one that raises or takes over ``seconds``.

    A part that does not answer is not read again until the pending call ends.
    """

    def __init__(
        self, readers: Mapping[str, Callable[[], Any]], clock: Clock, seconds: float, kept_seconds: float
    ) -> None:
        self._readers = readers
        self._clock = clock
        self._seconds = seconds
        self._kept_seconds = kept_seconds
        self._pool = ThreadPoolExecutor(len(readers), "parts")
        self._hanging: dict[str, Future[Any]] = {}
        self._kept: tuple[int, dict[str, Any]] | None = None

    def read(self) -> tuple[int, dict[str, Any]]:
        """When the parts were read (microseconds), at most ``kept_seconds`` ago, and the parts."""
        # By the wall clock: the monotonic one may stop while Lambda freezes an environment.
        now = self._clock.now()
        if self._kept is None or not 0 <= now - self._kept[0] <= self._kept_seconds * SECOND:
            parts = self._read()
            self._kept = (self._clock.now(), parts)
        return self._kept

    def _read(self) -> dict[str, Any]:
        # A late answer is not used: it may be from before a freeze.
        self._hanging = {name: future for name, future in self._hanging.items() if not future.done()}
        pending = {name: self._pool.submit(read) for name, read in self._readers.items() if name not in self._hanging}
        wait(pending.values(), self._seconds)
        parts: dict[str, Any] = dict.fromkeys(self._hanging, Unknown("an earlier request is not answered yet"))
        for name, future in pending.items():
            if future.done():
                parts[name] = _result(future)
            else:
                self._hanging[name] = future
                parts[name] = Unknown(f"no answer within {self._seconds:g} s")
        return parts


def _result(done: Future[Any]) -> Any:
    try:
        return done.result()
    except HeadraceError as error:
        return Unknown(error.message, away=isinstance(error, BrokerUnavailable))
    except Exception as error:  # noqa: BLE001 - a failure of one part must not hide the others
        return Unknown(type(error).__name__)
