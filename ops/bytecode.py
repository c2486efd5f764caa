"""Compiles the layers that ``sam build`` made, so that a cold start does not.

Wheels hold no bytecode, and Lambda's file system is read-only: without it, every cold start compiles each module that
it imports. The bytecode does not refer to the time of its source, because the SAM CLI packs files without their times
(https://github.com/aws/aws-lambda-builders/issues/924). A Python of another version ignores it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from localstage.core.errors import StageError

RUNTIME = "python3.13"
"""The Python of the functions."""
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
