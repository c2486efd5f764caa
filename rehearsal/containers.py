"""Functions in containers, with the SAM CLI: ``make invoke`` and ``make invoke FUNCTION=all``.

While a stage runs, containers get the functions' variables of that stage and the network of this machine, so that they
reach its services. Without one, they get the values of ``sam-local.env.json``, where nothing listens.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from loadtest.client.stage_process import SeparateStage, StageFailed
from localstage.core.errors import NotRunning, StageError
from localstage.core.statefile import StateFile
from ops.runtime import ROOT, RUNTIME, SAM, architecture, build_with, has_engine, python_to_build
from rehearsal.errors import RehearsalError
from rehearsal.events import Case, dead_letters, one_of_each_function
from rehearsal.sam import Sam

STATE = ROOT / ".local" / "sam-test"
_HOST_NETWORK = ROOT / "rehearsal" / "host_network.py"
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION")


class Containers:
    """Runs functions in containers. ``variables`` are those of each function of a running stage, or nothing."""

    def __init__(self, folder: Path, variables: Mapping[str, Mapping[str, str]], private: Path) -> None:
        self._folder = folder
        self._variables = variables
        self._file = private / "variables.json"
        self._options, self._path = build_with(python_to_build(architecture()))
        if variables:
            self._file.touch(mode=0o600)
            self._file.write_text(json.dumps(variables))

    def build(self) -> None:
        """``sam build`` for this machine.

        Raises:
            RehearsalError: the build failed.
        """
        done = self._run("build", *self._options, output=True)
        if done.returncode != 0:
            raise RehearsalError(f"sam build failed:\n{done.stderr}")

    def invoke(self, function: str, event: Path) -> int:
        """``sam local invoke``, with its output on the terminal; returns its exit code."""
        return self._run("local", "invoke", function, "-e", str(event), *self._environment()).returncode

    def answer(self, function: str, event: bytes) -> Any:
        """The answer of ``sam local invoke``.

        Raises:
            RehearsalError: the container printed no JSON value.
        """
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(event)
            file.flush()
            done = self._run("local", "invoke", function, "-e", file.name, *self._environment(), output=True)
        try:
            return json.loads(done.stdout.strip().splitlines()[-1])
        except (IndexError, ValueError):
            raise RehearsalError(f"{function} in a container printed no answer:\n{done.stderr}") from None

    def put_dead_letters(self) -> None:
        """Put what the cases expect into the dead lane of the stage."""
        given = self._variables["ManageDeadLetters"]
        keys = {name.lower(): given[name] for name in _KEYS[:3] if given.get(name)}
        sqs: Any = boto3.client("sqs", "us-east-1", endpoint_url=given["AWS_ENDPOINT_URL_SQS"], **keys)  # type: ignore[call-overload]
        for body in dead_letters():
            sqs.send_message(QueueUrl=given["DEAD_LETTER_QUEUE_URL"], MessageBody=body)

    def _environment(self) -> list[str]:
        extra = shlex.split(os.environ.get("SAM_FLAGS", ""))
        return [*extra, "--env-vars", str(self._file)] if self._variables else extra

    def _command(self, *arguments: str) -> list[str]:
        start = [str(SAM.with_name("python")), str(_HOST_NETWORK)] if self._variables else [str(SAM)]
        return [*start, *arguments, "--config-env", "local"]

    def _process_environment(self) -> dict[str, str]:
        first: Mapping[str, str] = next(iter(self._variables.values()), {})
        keys = {name: first[name] for name in _KEYS if name in first}
        return {**os.environ, "AWS_DEFAULT_REGION": "us-east-1", **keys, "PATH": self._path, "SAM_CLI_TELEMETRY": "0"}

    def _run(self, *arguments: str, output: bool = False) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments),
            cwd=self._folder,
            env=self._process_environment(),
            check=False,
            capture_output=output,
            text=True,
        )


@contextmanager
def containers(state_dir: Path, folder: Path = ROOT) -> Iterator[Containers]:
    """Containers beside the stage of ``state_dir``, if one runs there."""
    try:
        variables = StateFile(state_dir).variables()
    except NotRunning:
        variables = {}
    with tempfile.TemporaryDirectory(prefix="headrace-") as private:
        yield Containers(folder, variables, Path(private))


@contextmanager
def _stage() -> Iterator[None]:
    """An empty stage in :data:`STATE`, on free ports."""
    stage = SeparateStage(STATE)
    try:
        stage.start()
        yield
    except StageFailed as error:
        raise RehearsalError(f"{error}:\n{(STATE / 'up.log').read_text()}") from None
    finally:
        stage.close()


def test_all() -> list[str]:
    """Run an event of each function in a container beside a stage, and print what they answer.

    Returns a sentence per difference.

    Raises:
        RehearsalError: the stage, a build or a container did not start.
        StageError: a program is missing.
    """
    sources = Sam(STATE / "work", Path(RUNTIME))
    sources.copy_sources()
    # The SAM CLI counts the start of a container as time of the function.
    sources.edit("    Timeout: 10\n", "    Timeout: 60\n")
    with _stage(), containers(STATE, STATE / "work") as run:
        run.build()
        run.put_dead_letters()
        return [text for case in one_of_each_function() for text in _compared(run, case)]


def _compared(run: Containers, case: Case) -> list[str]:
    try:
        found = [f"{case.name}: {text}" for text in case.differences(run.answer(case.function, case.sent()))]
    except RehearsalError as error:  # such as a timeout: the function's includes the start of the container
        found = [f"{case.name}: {error}"]
    print("\n".join([f"{'wrong' if found else 'ok':<6} {case.name}", *found]), flush=True)
    return found


def main(arguments: list[str]) -> int:
    """``test``, ``test-if-possible``, or ``invoke FUNCTION EVENT``; returns the exit code."""
    if not has_engine():
        print("No container engine answers, so no function runs in a container. Start Docker or Podman and try again.")
        return 0 if arguments == ["test-if-possible"] else 1
    if arguments[0] == "invoke":
        _, function, event = arguments
        state_dir = Path(os.environ.get("LOCALSTAGE_STATE_DIR", ".local"))
        with containers(state_dir) as run:
            run.build()
            return run.invoke(function, Path(event))
    wrong = test_all()
    print(f"sam-test: {architecture()}, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RehearsalError, StageError) as error:
        sys.exit(f"sam: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
