"""Ports of the stage's services: free ones, and the same at the next start."""

from __future__ import annotations

import json
import random
import socket
from pathlib import Path

from localstage.core.errors import PortTaken

# Below Linux's ephemeral range (32768 and up), so that no outgoing connection uses a remembered port.
FIRST, LAST = 20000, 32000


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a server could listen on ``host:port`` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError:
            return False
    return True


class Ports:
    """Hands out ports by name and remembers them in ``file``, so that URLs stay the same across restarts."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, int] = {}
        self._taken: set[int] = set()

    def take(self, name: str, *, also: tuple[int, ...] = ()) -> int:
        """Return a free port for ``name``: last time's, else any.

        ``also`` are distances: the ports that far above the one returned are free too.

        Raises:
            PortTaken: no port is free.
        """
        last = self._load().get(name)
        if last is not None and self._all_free(last, also):
            return self._remember(name, last, also)
        # Not by the generator that a test run seeds: two processes with one seed would take one port at one moment.
        for port in random.Random().sample(range(FIRST, LAST), LAST - FIRST):  # noqa: S311
            if self._all_free(port, also):
                return self._remember(name, port, also)
        raise PortTaken(f"No port between {FIRST} and {LAST} is free for {name}.")

    def again(self) -> Ports:
        """Return ports for a restart: each port handed out before may be handed out again if it is free."""
        return Ports(self._file)

    def _all_free(self, port: int, also: tuple[int, ...]) -> bool:
        needed = {port, *(port + distance for distance in also)}
        return not needed & self._taken and all(is_free(each) for each in needed)

    def _load(self) -> dict[str, int]:
        if not self._known and self._file.exists():
            try:
                found = json.loads(self._file.read_text())
            except ValueError:
                return {}
            self._known = {name: port for name, port in found.items() if isinstance(port, int)}
        return self._known

    def _remember(self, name: str, port: int, also: tuple[int, ...]) -> int:
        self._taken |= {port, *(port + distance for distance in also)}
        if self._load().get(name) != port:
            self._known[name] = port
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self._known, indent=1))
        return port
