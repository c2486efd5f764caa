"""Deploys a stage with the SAM CLI, under a new name of the release."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from localstage.core.errors import MissingProgram, StageError
from localstage.template import parameters
from ops import replacements
from ops.runtime import ROOT, RUNTIME, SAM, add_bytecode, build_with, python_to_build

BUILD = ROOT / ".aws-sam" / "build"
CONFIG = ROOT / "samconfig.toml"
UNNAMED = 'Release = ""\n'


class DeploymentError(StageError):
    """A command of a deployment failed; it has printed why."""


def new_release(now: datetime) -> str:
    """The time in UTC and the commit, such as ``2611222357-677f840``."""
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return f"{now.astimezone(UTC):%y%m%d%H%M}-{found.stdout.strip() or 'no-commit'}"


def config_of(release: str) -> str:
    """samconfig.toml with the release in every stage.

    A file, because the command line of the SAM CLI takes no empty values and replaces all parameters of a section.

    Raises:
        StageError: samconfig.toml has no line for it.
    """
    text = CONFIG.read_text(encoding="utf-8")
    if UNNAMED not in text:
        raise StageError(f"samconfig.toml has no line {UNNAMED.strip()}")
    return text.replace(UNNAMED, f'Release = "{release}"\n')


def prepare(config_env: str) -> Path | None:
    """The Python with which ``sam build`` of a stage works on this machine; ``None``: it needs a container.

    Raises:
        StageError: samconfig.toml has no such stage, or a program is missing.
    """
    processor = parameters.from_samconfig(CONFIG, config_env).get("Architecture", "arm64")
    if not SAM.exists():
        raise MissingProgram("The SAM CLI is not installed. Run: make .local/sam/bin/sam")
    return python_to_build(processor)


def deploy(config_env: str, options: list[str], python: Path | None) -> str:
    """Build and deploy a stage, with what :func:`prepare` found; returns the name of the release.

    Raises:
        StageError: samconfig.toml has no such stage, or a command of the SAM CLI failed.
    """
    options_of_build, path = build_with(python)
    release = new_release(datetime.now(UTC))
    named = config_of(release)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "samconfig.toml"
        file.write_text(named, encoding="utf-8")
        section = ["--config-file", str(file), "--config-env", config_env]
        _run(["build", *section, *_architecture(config_env), *options_of_build], PATH=path)
        _compile(python)
        print(replacements.report(), flush=True)
        _run(["deploy", *section, *options])
    return release


def _architecture(config_env: str) -> list[str]:
    """The option that builds packages for the processor of the stage.

    ``sam build`` does not read the parameters of a deployment.
    """
    given = parameters.from_samconfig(CONFIG, config_env).get("Architecture")
    return ["--parameter-overrides", f"Architecture={given}"] if given else []


def _compile(python: Path | None) -> None:
    if python:
        add_bytecode(BUILD, python)
    else:  # sam built in a container
        print(f"headrace: no {RUNTIME} on the path: cold starts compile the layers, and take longer", file=sys.stderr)


def _run(arguments: list[str], **variables: str) -> None:
    environment = {**os.environ, "SAM_CLI_TELEMETRY": "0", **variables}
    code = subprocess.run([str(SAM), *arguments], cwd=ROOT, env=environment, check=False).returncode
    if code:
        raise DeploymentError(f"sam {arguments[0]} ended with {code}; nothing further was done")
