"""Builds what Lambda mounts: layers with requirements, and the runtime with awslambdaric and boto3."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from localstage.core.errors import MissingProgram, StageError
from localstage.core.model import Layer
from localstage.functions.settings import python_command
from localstage.services.install import last_line, run

_log = logging.getLogger("localstage.functions")

_UV = Path(sys.executable).with_name("uv")
# Imported once after a build, so that the modules of the standard library are compiled too.
_WARM = "import sys; sys.path.insert(0, sys.argv[1]); import awslambdaric.bootstrap, http.client, boto3.session"


@dataclass(frozen=True)
class Built:
    """``layers``: layer id to what is mounted as ``/opt``; ``runtime``: what is ``/var/runtime``."""

    layers: Mapping[str, Path]
    runtime: Path


async def build(layers: Iterable[Layer], state_dir: Path, *, runtime_requirements: Path) -> Built:
    """Make the layers and the runtime under ``state_dir``; existing ones are kept.

    A layer without requirements is its own content directory, so that its edits take effect.

    Raises:
        MissingProgram: uv is not installed.
        StageError: packages could not be installed; the message names the log.
    """
    state_dir = state_dir.absolute()  # noqa: ASYNC240  (asks no disk)
    mounted: dict[str, Path] = {}
    for layer in {layer.id: layer for layer in layers}.values():
        if layer.requirements is None:
            mounted[layer.id] = layer.content
        else:
            target = state_dir / "layers" / f"{layer.id}-{_fingerprint(layer.requirements)}"
            mounted[layer.id] = await _ensure(target, layer.requirements, state_dir, name=layer.id, inside="python")
    runtime = state_dir / f"runtime-{_fingerprint(runtime_requirements)}"
    if not runtime.is_dir():
        await _ensure(runtime, runtime_requirements, state_dir, name="runtime", inside="")
        await _run([*python_command(state_dir), "-c", _WARM, str(runtime)], state_dir / "logs" / "runtime.log")
    return Built(mounted, runtime)


def _fingerprint(requirements: Path) -> str:
    try:
        text = requirements.read_bytes()
    except OSError as error:
        raise StageError(f"{requirements} cannot be read: {error.strerror}") from error
    return hashlib.sha256(text + sys.version.encode()).hexdigest()[:12]


async def _ensure(target: Path, requirements: Path, state_dir: Path, *, name: str, inside: str) -> Path:
    """Install ``requirements`` into ``target/inside``; ``target`` is created atomically."""
    if target.is_dir():  # noqa: ASYNC240  (a local disk, at the start of the stage)
        return target
    log = state_dir / "logs" / f"{name}.log"
    work = _workspace(target, log)
    _log.info("installing %s (once)", name)
    try:
        await _install(work / inside, requirements, log, name)
        _publish(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    # A failure only makes the first cold start slow.
    await _run([*python_command(state_dir), "-m", "compileall", "-q", "-j", "0", str(target)], log)
    return target


def _workspace(target: Path, log: Path) -> Path:
    if not _UV.exists():
        raise MissingProgram("uv is not installed beside this Python; run: make setup")
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise StageError(f"{target.parent} cannot be written: {error.strerror}") from error


def _publish(work: Path, target: Path) -> None:
    work.chmod(0o755)
    try:
        work.rename(target)
    except OSError as error:
        # Two stages may build at once: the first one wins, the result is the same.
        if not target.is_dir():
            raise StageError(f"{target} could not be made: {error.strerror}") from error


async def _install(packages: Path, requirements: Path, log: Path, name: str) -> None:
    command = [str(_UV), "pip", "install", "--quiet", "--python", sys.executable, "--target", str(packages)]
    status, said = await _run([*command, "--require-hashes", "-r", str(requirements)], log)
    if status != 0:
        raise StageError(f"the packages of {name} ({requirements}) could not be installed: {said} (see {log})")


async def _run(command: list[str], log: Path) -> tuple[int, str]:
    """Run ``command`` to its end; its status and the last line it printed. All it printed is appended to ``log``."""
    status, output = await run(command, {**os.environ, "NO_COLOR": "1"})
    with contextlib.suppress(OSError), log.open("a") as file:
        file.write(output)
    return status, last_line(output)
