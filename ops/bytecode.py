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
MAGIC = (3571).to_bytes(2, "little") + b"\r\n"
"""The start of its bytecode: ``MAGIC_NUMBER`` of importlib.util, which stays the same in all releases of 3.13."""
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


def check_bytecode(build: Path) -> None:
    """Check that the runtime uses the bytecode of the layers in ``build``; of another Python, it ignores it.

    Raises:
        StageError: there is no bytecode, or some of it is of another Python.
    """
    files = sorted(build.glob("*/python/**/*.pyc"))
    wrong = [file for file in files if file.read_bytes()[:4] != MAGIC]
    if wrong or not files:
        named = f"{wrong[0]} and {len(wrong) - 1} more are" if wrong else f"{build} has none that is"
        raise StageError(f"bytecode of the layers: {named} not of {RUNTIME}")
