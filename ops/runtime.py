"""The Python of the functions: ``sam build`` works with it, and it compiles the layers, so that a cold start does not.

Wheels hold no bytecode, and Lambda's file system is read-only: without it, every cold start compiles each module that
it imports. The bytecode does not refer to the time of its source, because the SAM CLI packs files without their times
(https://github.com/aws/aws-lambda-builders/issues/924). A Python of another version ignores it.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

from localstage.core.errors import MissingProgram, StageError

ROOT = Path(__file__).resolve().parents[1]
SAM = ROOT / ".local" / "sam" / "bin" / "sam"
RUNTIME = "python3.13"
"""The Python of the functions."""
HOW = f"""sam build needs {RUNTIME} with pip, or a container engine that answers. Type one of these:
  Debian 12, Ubuntu 24.04  .venv/bin/uv python install 3.13, then add PYTHON="$(.venv/bin/uv python find 3.13)"
  Debian 13                sudo apt install python3.13 python3-pip
  macOS                    brew install python@3.13
or start Docker, or Podman and set DOCKER_HOST: the functions are then built in a container, if this machine has the
processor of the stage (Architecture)."""
UNUSED = (
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.utilities.auth_alpha",
    "aws_lambda_powertools.utilities.data_classes",
    "aws_lambda_powertools.utilities.feature_flags",
    "aws_lambda_powertools.utilities.idempotency",
    "aws_lambda_powertools.utilities.parser",
    "cffi",
    "pycparser",
    "pydantic.v1",
)
"""Large packages that no function imports. Their bytecode would only make the layers larger."""


def find_python() -> Path | None:
    """The Python of the functions, with pip: the one in ``PYTHON``, or that of the path. Its name is ``RUNTIME``.

    Raises:
        StageError: ``PYTHON`` is another one.
    """
    named = os.environ.get("PYTHON")
    found = shutil.which(named or RUNTIME)
    code = "import pip, sys; print('python%d.%d' % sys.version_info[:2])"
    if found is None or subprocess.run([found, "-c", code], capture_output=True, text=True).stdout.strip() != RUNTIME:
        if named:
            raise StageError(f"PYTHON: {named} is not a {RUNTIME} with pip")
        return None
    if Path(found).name == RUNTIME:
        return Path(found)
    script = ROOT / ".local" / "runtime" / RUNTIME  # the SAM CLI knows it by this name only
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec "{Path(found).absolute()}" "$@"\n')
    script.chmod(0o755)
    return script


def architecture() -> str:
    """The parameter ``Architecture`` that fits this machine."""
    return "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"


def has_engine() -> bool:
    """Whether a container engine answers at DOCKER_HOST or at the usual socket."""
    if not SAM.exists():
        return False
    command = [str(SAM.with_name("python")), "-c", "import docker; docker.from_env(timeout=5).ping()"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def python_to_build(processor: str) -> Path | None:
    """The Python with which ``sam build`` works on this machine, for a ``processor``; ``None``: it needs a container.

    Raises:
        MissingProgram: there is neither the Python of the functions nor a container engine of this processor.
        StageError: ``PYTHON`` is another one.
    """
    python = find_python()
    if python is None and not (processor == architecture() and has_engine()):
        raise MissingProgram(HOW)
    return python


def build_with(python: Path | None) -> tuple[list[str], str]:
    """The options of ``sam build``, and the ``PATH``, with which it works with ``python`` or in a container."""
    path = os.environ.get("PATH", "")
    return ([], f"{python.parent}{os.pathsep}{path}") if python else (["--use-container"], path)


def add_bytecode(build: Path, python: str | Path) -> None:
    """Compile ``*/python`` in ``build``, a folder such as ``.aws-sam/build``, with the ``python`` of the runtime.

    Raises:
        StageError: there is no layer, or a module is no valid Python.
    """
    layers = sorted(map(str, build.glob("*/python")))
    if not layers:
        raise StageError(f"{build} has no layer to compile")
    options = ["-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    unused = "|".join(name.replace(".", "/") for name in UNUSED)
    command = [str(python), "-m", "compileall", *options, "-x", f"/python/(?:{unused})/", *layers]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise StageError(f"compiling the layers failed:\n{done.stdout}{done.stderr}")
