"""The Python client's package declares its dependencies, its types and its names."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import headrace_client
from tests.unit.template_stack import ROOT
from tools.python_client.__main__ import generated

FOLDER = ROOT / "clients" / "python"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())


def imported() -> set[str]:
    """The packages that the client imports, without Python's own and without itself."""
    trees = [ast.parse(path.read_text()) for path in (FOLDER / "headrace_client").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def test_the_package_depends_on_what_it_imports() -> None:
    project = PROJECT["project"]
    listed = [*project["dependencies"], *project["optional-dependencies"]["cli"]]
    required = {re.split(r"[^\w-]", each)[0] for each in listed}

    assert required == imported()


def test_the_package_is_typed() -> None:
    assert (FOLDER / "headrace_client" / "py.typed").exists()
    assert PROJECT["tool"]["setuptools"]["package-data"] == {"headrace_client": ["py.typed"]}


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_a_generated_module_is_up_to_date(path: Path) -> None:
    assert path.read_text() == generated()[path], "run: make reference"


def test_the_package_has_the_licence_of_the_project() -> None:
    assert (FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_its_readme_names_what_it_exports() -> None:
    table = re.findall(r"^\| (`.+?) \|", (FOLDER / "README.md").read_text(), re.M)
    names = {name for row in table for name in re.findall(r"`(\w+)`", row)}

    assert names - {"name"} <= set(headrace_client.__all__)
    assert {"over_http", "over_websocket", "Rooms"} <= names
