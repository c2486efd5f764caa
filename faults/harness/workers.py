"""Work in threads, while a fault lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable

ENDED_WITHIN = 180.0
"""Seconds that a worker gets for its outstanding answers: longer than it waits until it gives up."""


class Workers:
    """Workers from :meth:`start` to :meth:`stop`; ``problems`` has a sentence for each that failed."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def _add(self, name: str, work: Callable[[], object]) -> None:
        """Let another worker do this."""

        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the scenario fails
                self.problems.append(f"{name} gave up: {type(error).__name__}: {error}")

        self._threads.append(threading.Thread(target=guarded, name=name, daemon=True))

    def start(self) -> None:
        """Start all workers."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let all workers end, and wait until everything that they sent is answered or given up."""
        self._stopping.set()
        for thread in [each for each in self._threads if each.is_alive()]:
            thread.join(ENDED_WITHIN)
            if thread.is_alive():
                self.problems.append(f"{thread.name} did not end: it waits for answers")
