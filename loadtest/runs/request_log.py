"""Writes a line of CSV for each request that the users of a run send."""

from __future__ import annotations

import csv
import time
from pathlib import Path

from loadtest.runs.place import Place

HEAD = ("start_time_ms", "request_type", "latency_ms", "response_code")


class RequestLog:
    """The requests of a run in the file ``path``; without a path, nothing is written.

    Each worker but the first has its own file, with its number at the end of the name.
    """

    def __init__(self, path: str, place: Place) -> None:
        self._file = None
        if path:
            named = Path(path)
            own = named.with_stem(f"{named.stem}-{place.worker}") if place.worker else named
            own.parent.mkdir(parents=True, exist_ok=True)
            self._file = own.open("a" if place.number else "w", newline="", encoding="utf-8")
            self._rows = csv.writer(self._file)
            if not place.number:
                self._rows.writerow(HEAD)

    def add(self, kind: str, began: float, code: object) -> None:
        """Write a request that was sent at ``began`` (epoch seconds) and is answered now, with ``code``."""
        if self._file is not None:
            self._rows.writerow((round(began * 1000), kind, round((time.time() - began) * 1000, 1), code))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
