"""A worker's answers to the conductor's messages."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from loadtest.runs.crew import Crew
from loadtest.runs.phase_run import failed_part
from loadtest.runs.place import Place
from loadtest.shapes.shape import Phase
from localstage.client.errors import ClientError

Send = Callable[[Mapping[str, Any]], object]
"""Sends one result to the conductor."""
POLL = 0.02


class Worker:
    """Plays phases with the users of ``crew``. ``users`` returns how many of them Locust has started."""

    def __init__(self, crew: Crew, users: Callable[[], int], send: Send) -> None:
        self._crew = crew
        self._users = users
        self._send = send
        self._interrupted = False

    @property
    def playing(self) -> bool:
        """Whether a phase is being played."""
        return self._crew.current is not None and not self._crew.current.finished

    def on_phase(self, message: Mapping[str, Any]) -> None:
        """Begin a phase, and return; its result is sent when it is read back."""
        place = Place.of_message(message["place"], message["worker"])
        phase = Phase.of_message(message["phase"])
        threading.Thread(target=self._play, args=(phase, place), daemon=True).start()

    def on_interrupt(self) -> None:
        """Interrupt the phase that is being played, and send its result so far."""
        self._interrupted = True
        run = self._crew.current
        if run is not None and not run.finished:
            run.interrupt()
            self._send({**run.message(None), "final": False})

    def _play(self, phase: Phase, place: Place) -> None:
        while self._crew.size < self._users():
            time.sleep(POLL)
        try:
            run = self._crew.begin(phase, place)
            if self._interrupted:  # while it got its token
                run.interrupt()
            part = run.run()
        except ClientError as error:
            part = failed_part(place, str(error))
        except Exception as error:  # noqa: BLE001 - the conductor waits for a result
            traceback.print_exc()
            part = failed_part(place, f"{type(error).__name__}: {error}")
        self._send({**part, "final": True})
