"""Builds what Lambda mounts: layers with requirements, and the runtime with awslambdaric and boto3."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from localstage.core.model import Layer
from localstage.functions.settings import python_command
from localstage.services.install import ensure_packages

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
        StageError: packages could not be installed.
    """
    state_dir = state_dir.absolute()  # noqa: ASYNC240  (asks no disk)
    mounted: dict[str, Path] = {}
    for layer in {layer.id: layer for layer in layers}.values():
        mounted[layer.id] = layer.content
        if layer.requirements is not None:
            name = f"layers/{layer.id}"
            mounted[layer.id] = await _packages(state_dir, name, layer.requirements, inside="python")
    return Built(mounted, await _packages(state_dir, "runtime", runtime_requirements, imported=[_WARM]))


async def _packages(
    state_dir: Path, name: str, requirements: Path, *, inside: str = "", imported: Iterable[str] = ()
) -> Path:
    """The folder with the packages of a lock file, compiled. Another lock file or Python has another folder."""
    text = requirements.read_bytes()  # noqa: ASYNC240  (a local disk, at the start of the stage)
    digest = hashlib.sha256(text + sys.version.encode()).hexdigest()
    folder = state_dir / f"{name}-{digest[:12]}"
    python = python_command(state_dir)
    compiled = [*python, "-m", "compileall", "-q", "-j", "0", str(folder)]
    warmed = [[*python, "-c", text, str(folder)] for text in imported]
    await ensure_packages(folder, requirements, name, inside=inside, then=[compiled, *warmed])
    return folder
