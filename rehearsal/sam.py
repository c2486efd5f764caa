"""The SAM CLI, in a clone of the project, so that neither the working tree nor its ``.aws-sam`` changes."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from localstage.core.errors import MissingProgram, StageError
from localstage.services.install import run
from ops.runtime import ROOT, RUNTIME, SAM, add_bytecode, architecture, find_python
from rehearsal.errors import RehearsalError

_SOURCES = ("template.yaml", "samconfig.toml", "templates", "functions", "layers", "streams")
_INSTEAD = {"streams": "examples/streams"}
"""What is copied in the place of others: the events of ``events/`` are of the example streams."""
_COMMANDS = ("Makefile", "requirements", "localstage", "loadtest", "ops", "clients")
"""What the make targets of a deployment read."""
_LINKED = (".git", ".venv", ".local/sam")
_OF_DEV = "[dev.deploy.parameters.parameter_overrides]\n"
_SHOWN_LINES = 25


def interpreter() -> Path:
    """The Python that functions run on: that of the template's runtime, or else this one, both with pip."""
    with contextlib.suppress(StageError):  # PYTHON may name the one of .venv
        if found := find_python():
            return found
    # Beside the one of .venv, which has pip on every machine.
    return Path(sys.executable).with_name(f"python3.{sys.version_info[1]}")


class Sam:
    """Commands in ``folder``, with ``python`` first on the path, and the variables and the AWS CLI of a cloud."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder
        self._python = python
        self._deployments = 0
        self.variables: Mapping[str, str] = {}

    @property
    def same_runtime(self) -> bool:
        """Whether functions run on the Python of the template's runtime."""
        return self._python.name == RUNTIME

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a command."""
        path = os.pathsep.join([str(self.folder / "bin"), str(self._python.parent), os.environ.get("PATH", "")])
        fixed = {"PATH": path, "SAM_CLI_TELEMETRY": "0", "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        return {**os.environ, **self.variables, **fixed}

    def link(self, name: str, to: Path) -> None:
        """Make ``name`` in the folder a link to what is elsewhere."""
        link = self.folder / name
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(to)

    def copy_sources(self) -> None:
        """Copy what a deployment reads, with the example streams, and with the processor of this machine for dev.

        Without the Python of the template's runtime, the copy names this machine's instead.

        Raises:
            MissingProgram: the SAM CLI is not installed.
        """
        if not SAM.exists():
            raise MissingProgram("The SAM CLI is not installed. Run: make .local/sam/bin/sam")
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in (*_SOURCES, *_COMMANDS):
            source, target = ROOT / _INSTEAD.get(name, name), self.folder / name
            if target.is_dir():
                shutil.rmtree(target)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)
        for name in _LINKED:
            self.link(name, ROOT / name)
        self.edit(_OF_DEV, f'{_OF_DEV}Architecture = "{architecture()}"\n', "samconfig.toml")
        if not self.same_runtime:
            self.edit(RUNTIME, self._python.name)
            self.edit(RUNTIME, self._python.name, "ops/runtime.py")

    def edit(self, text: str, new: str, file: str = "template.yaml") -> None:
        """Replace a text everywhere in a copied file.

        Raises:
            RehearsalError: the file does not have the text.
        """
        before = (self.folder / file).read_text()
        if text not in before:
            raise RehearsalError(f"{file} does not have the text {text!r}, which the rehearsal replaces")
        (self.folder / file).write_text(before.replace(text, new))

    def overrides(self, stage: str, more: Mapping[str, str]) -> list[str]:
        """The parameters of a stage in samconfig.toml, with what this machine needs instead, and ``more``."""
        with (self.folder / "samconfig.toml").open("rb") as file:
            found = tomllib.load(file)[stage]["deploy"]["parameters"]["parameter_overrides"]
        # Each deployment is another release.
        values = {
            **found,
            "Release": f"{self._deployments:010}-rehearsal",
            "Architecture": architecture(),
            **more,
        }
        return ["--parameter-overrides", *(f"{name}={value}" for name, value in values.items())]

    async def build(self) -> None:
        """``sam build``, and bytecode as in ``make deploy``."""
        await self._run("build", "--config-env", "dev", *self.overrides("dev", {}))
        add_bytecode(self.folder / ".aws-sam" / "build", self._python)

    async def deploy(self, stage: str, **parameters: str) -> None:
        """``sam deploy`` of what was built, as a stage of samconfig.toml with some other parameters."""
        self._deployments += 1
        options = ["--no-confirm-changeset", "--no-progressbar", *self.overrides(stage, parameters)]
        await self._run("deploy", "--config-env", stage, *options)

    async def destroy(self, stage: str) -> None:
        """``make destroy``, with the name of the stack as its answer."""
        command = [sys.executable, "-m", "ops", "destroy", "--stack", f"headrace-{stage}"]
        await self._execute("make destroy", command, ROOT, f"headrace-{stage}\n".encode())

    async def _run(self, command: str, *arguments: str) -> None:
        await self._execute(f"sam {command}", [str(SAM), command, *arguments], self.folder)

    async def _execute(self, name: str, command: Sequence[str], folder: Path, answer: bytes = b"") -> None:
        code, output = await run(command, self.environment, folder, answer)
        if code != 0:
            lines = output.rstrip().splitlines()
            lines = [line for line in lines if line.startswith("Error: ")] or lines[-_SHOWN_LINES:]
            raise RehearsalError("\n  ".join([f"{name} failed:", *lines]))
