"""The Python of the functions is found or named, and what is deployed has its bytecode."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from localstage.core.errors import MissingProgram, StageError
from ops import runtime
from ops.runtime import RUNTIME, add_bytecode, architecture, build_with, find_python, python_to_build

RUN = "import module; print(module.NUMBER)"


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    """A layer as the SAM CLI builds it."""
    layer = tmp_path / "ExampleLayer" / "python"
    layer.mkdir(parents=True)
    (layer / "module.py").write_text("NUMBER = 1\n")
    return layer


def number(layer: Path) -> int:
    """The number in the module, imported on a file system that Python cannot write to."""
    environment = {**os.environ, "PYTHONPATH": str(layer), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", RUN]
    return int(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def test_bytecode_is_used_whatever_its_source(layer: Path, tmp_path: Path) -> None:
    """The SAM CLI dates every file 1980. That the bytecode ran shows in the old number."""
    add_bytecode(tmp_path, sys.executable)
    (layer / "module.py").write_text("NUMBER = 22\n")
    os.utime(layer / "module.py", (315_532_800, 315_532_800))

    assert number(layer) == 1


def script(path: Path, *lines: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without the Python of the functions and without a container engine; the folder of its path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("PYTHON", raising=False)
    monkeypatch.setattr(runtime, "ROOT", tmp_path)
    monkeypatch.setattr(runtime, "has_engine", lambda: False)
    return folder


def test_without_a_python_a_person_is_told_what_to_type(empty: Path) -> None:
    with pytest.raises(MissingProgram) as error:
        python_to_build(architecture())

    for system in ("Debian 12", "Ubuntu 24.04", "macOS", "Docker"):
        assert system in str(error.value)


def test_a_python_without_pip_is_not_taken(empty: Path) -> None:
    script(empty / RUNTIME, "exit 1")

    assert find_python() is None


def test_a_named_python_gets_the_name_that_the_sam_cli_looks_for(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON", str(script(tmp_path / "own python" / "python3", f"echo {RUNTIME}")))

    options, path = build_with(python_to_build(architecture()))

    assert options == []
    found = subprocess.run([RUNTIME], env={"PATH": path}, check=True, capture_output=True, text=True).stdout
    assert found.strip() == RUNTIME


def test_another_python_is_refused_by_its_name(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = script(empty / "other", "echo python3.12")
    monkeypatch.setenv("PYTHON", str(other))

    with pytest.raises(StageError, match=rf"PYTHON: {re.escape(str(other))} is not a python3\.13 with pip"):
        find_python()


def test_a_container_builds_for_its_own_processor_only(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "has_engine", lambda: True)

    with pytest.raises(MissingProgram, match="processor of the stage"):
        python_to_build("x86_64" if architecture() == "arm64" else "arm64")
