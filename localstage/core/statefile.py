"""``.local/stage.json``: the URLs of the running stage, for commands and clients.

Written when the stage is ready, removed when it stops. ``functions.json`` beside it has the variables of the functions,
with secrets. ``stage.lock`` is held for the stage's whole life, so nothing has to be cleaned up after a killed stage.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from localstage.core.atomic_write import write_atomically
from localstage.core.errors import AlreadyRunning, NotRunning, StageError
from localstage.core.locks import try_lock


@dataclass(frozen=True)
class Running:
    """What a client needs to reach the stage. URLs are complete; ``started_at`` is epoch seconds.

    ``scopes`` are those that the template declares. People sign in with ``client_id``. It, ``token_url``, ``kill_url``
    and ``console_url`` contain secrets.
    """

    pid: int
    http_url: str
    websocket_url: str
    issuer: str
    token_url: str
    status_url: str
    started_at: float
    scopes: Sequence[str] = ()
    kill_url: str = ""
    console_url: str = ""
    client_id: str = ""


class StateFile:
    """The lock of a state folder, which allows one stage, and the file with its URLs."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._path = state_dir / "stage.json"
        self._functions = state_dir / "functions.json"
        self._lock_file = state_dir / "stage.lock"
        self._lock: IO[str] | None = None

    def make_private(self) -> None:
        """Make the folder if it is missing, and let only its owner into it.

        Raises:
            StageError: it is a folder that users share, such as /tmp.
        """
        self._state_dir.mkdir(parents=True, exist_ok=True)
        if self._state_dir.stat().st_mode & stat.S_ISVTX:
            raise StageError(f"{self._state_dir} is shared by all users; name a folder for the stage alone")
        self._state_dir.chmod(0o700)

    def acquire(self) -> None:
        """Hold the folder for this process.

        Raises:
            AlreadyRunning: another stage holds it.
        """
        self._state_dir.mkdir(parents=True, exist_ok=True)
        self._lock = try_lock(self._lock_file)
        if self._lock is None:
            raise AlreadyRunning(self._who())
        self._path.unlink(missing_ok=True)

    def is_held(self) -> bool:
        """Whether a stage holds the folder: it starts, runs or stops."""
        if not self._lock_file.exists():
            return False
        lock = try_lock(self._lock_file)
        if lock is not None:
            lock.close()
        return lock is None

    def refuse_second_stage(self) -> None:
        """Raise AlreadyRunning if a stage holds the folder; change nothing."""
        if self.is_held():
            raise AlreadyRunning(self._who())

    def write(self, running: Running, variables: Mapping[str, Mapping[str, str]]) -> None:
        """Write the files, atomically: the stage is ready. ``variables`` are those of each function."""
        write_atomically(self._functions, json.dumps(variables, indent=1))
        write_atomically(self._path, json.dumps(asdict(running), indent=1))

    def release(self) -> None:
        """Remove the files: the stage has stopped."""
        self._path.unlink(missing_ok=True)
        self._functions.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def read(self) -> Running:
        """Return the URLs of the running stage.

        Raises:
            NotRunning: no stage runs in this folder, or it is not ready yet.
        """
        if self.is_held():
            try:
                return Running(**json.loads(self._path.read_text(encoding="utf-8")))
            except FileNotFoundError:
                raise NotRunning("the stage is still starting; try again in a few seconds") from None
        raise NotRunning(f"no stage runs here ({os.path.relpath(self._state_dir)}); start one with: make up")

    def variables(self) -> Mapping[str, Mapping[str, str]]:
        """Return the environment variables of each function of the running stage, by logical id.

        Raises:
            NotRunning: no stage runs in this folder, or it is not ready yet.
        """
        self.read()
        found: Mapping[str, Mapping[str, str]] = json.loads(self._functions.read_text(encoding="utf-8"))
        return found

    def _who(self) -> str:
        try:
            running = Running(**json.loads(self._path.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return "another stage is starting in this folder; wait for it, or stop it with Ctrl-C where it runs"
        return f"a stage runs here already (pid {running.pid}, {running.http_url}); stop it first with Ctrl-C there"
