"""What is deployed has bytecode that Lambda's Python uses."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localstage.core.errors import StageError
from ops.bytecode import MAGIC, RUNTIME, add_bytecode, check_bytecode
from tests.unit.template_stack import ROOT

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


def test_usual_bytecode_is_rejected(layer: Path) -> None:
    """So that the test above can fail."""
    compileall.compile_dir(layer, quiet=1)
    (layer / "module.py").write_text("NUMBER = 22\n")
    os.utime(layer / "module.py", (315_532_800, 315_532_800))

    assert number(layer) == 22


def test_packages_that_no_function_imports_get_none(layer: Path, tmp_path: Path) -> None:
    """tests/unit/test_imports.py says that no function imports them."""
    (layer / "pydantic" / "v1").mkdir(parents=True)
    for module in ("pydantic/main.py", "pydantic/v1/main.py", "cffi.py"):
        (layer / module).write_text("")

    add_bytecode(tmp_path, sys.executable)

    compiled = {path.relative_to(layer).parts[:-2] for path in layer.rglob("*.pyc")}
    assert compiled == {(), ("pydantic",)}


def test_a_module_that_is_no_python_is_named(layer: Path, tmp_path: Path) -> None:
    (layer / "broken.py").write_text("def\n")

    with pytest.raises(StageError, match=r"compiling the layers failed:[\s\S]*broken\.py"):
        add_bytecode(tmp_path, sys.executable)


def test_a_build_without_layers_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="has no layer to compile"):
        add_bytecode(tmp_path, sys.executable)


@pytest.mark.parametrize("start", [None, (3495).to_bytes(2, "little") + b"\r\n"], ids=["no bytecode", "that of 3.11"])
def test_bytecode_that_the_runtime_ignores_is_refused(layer: Path, tmp_path: Path, start: bytes | None) -> None:
    if start:
        (layer / "__pycache__").mkdir()
        (layer / "__pycache__" / "module.pyc").write_bytes(start)

    with pytest.raises(StageError, match=r"not of python3\.13"):
        check_bytecode(tmp_path)


def test_bytecode_of_the_runtime_is_taken(layer: Path, tmp_path: Path) -> None:
    (layer / "module.pyc").write_bytes(MAGIC + bytes(12))

    check_bytecode(tmp_path)


def test_bytecode_is_for_the_runtime_of_the_template() -> None:
    assert f"    Runtime: {RUNTIME}\n" in (ROOT / "template.yaml").read_text()
