"""The Python client's package declares its dependencies, its types and its names."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import headrace_client
from tests.unit.template_stack import ROOT
from tests.worlds.tracked import tracked
from tools.python_client.__main__ import generated
from tools.python_client.types import definitions

FOLDER = ROOT / "clients" / "python"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())


def imported() -> set[str]:
    """The packages that the client imports, without Python's own and without itself."""
    trees = [ast.parse(path.read_text()) for path in tracked(FOLDER / "headrace_client", "*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def test_a_release_has_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tarball = json.loads((ROOT / "clients" / "typescript" / "package.json").read_text())

    assert project["version"] == tarball["version"] == headrace_client.__version__


def test_the_package_depends_on_what_it_imports() -> None:
    project = PROJECT["project"]
    listed = [*project["dependencies"], *project["optional-dependencies"]["cli"]]
    required = {re.split(r"[^\w-]", each)[0] for each in listed}

    assert required == imported()


def test_the_package_is_typed() -> None:
    assert (FOLDER / "headrace_client" / "py.typed").exists()
    assert PROJECT["tool"]["setuptools"]["package-data"] == {"headrace_client": ["py.typed"]}


def test_the_types_of_an_operation_are_known_in_both_clients(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from typing import assert_type\n"
        "from headrace_client import AsyncHeadrace, Headrace\n"
        "from headrace_client.types import EventWindow, MessageItem, RoomDetails\n"
        "async def program(one: AsyncHeadrace, other: Headrace) -> None:\n"
        "    assert_type(await one.get_room('lobby'), RoomDetails)\n"
        "    assert_type(other.get_room('lobby'), RoomDetails)\n"
        "    assert_type([each for each in other.items(other.list_messages, 'lobby')], list[MessageItem])\n"
        "    assert_type(await one.stream('doors').window('1', '2', method='card'), EventWindow)\n"
        "    assert_type(other.stream('doors').window('1', '2', method='card'), EventWindow)\n"
        "    other.get_room()\n"
        "    await one.list_messages('lobby', limit='ten')\n"
    )
    command = [sys.executable, "-m", "mypy", tmp_path / "program.py"]

    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout

    assert re.findall(r"program.py:(\d+): error: .*\[(.+)\]", printed) == [("10", "call-arg"), ("11", "arg-type")]


@pytest.mark.parametrize("path", generated(), ids=lambda path: path.name)
def test_a_generated_module_is_up_to_date(path: Path) -> None:
    assert path.read_text() == generated()[path], "run: make reference"


def test_two_schemas_with_one_name_are_an_error() -> None:
    documents = [{"components": {"schemas": {"Size": {"type": each}}}} for each in ("string", "string", "integer")]

    definitions(*documents[:2])
    with pytest.raises(ValueError, match="Size"):
        definitions(*documents)


@pytest.mark.parametrize("client", ["python", "typescript"])
def test_a_package_has_the_licence_of_the_project(client: str) -> None:
    assert (ROOT / "clients" / client / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_its_readme_names_what_it_exports() -> None:
    table = re.findall(r"^\| (`.+?) \|", (FOLDER / "README.md").read_text(), re.M)
    names = {name for row in table for name in re.findall(r"`(\w+)`", row)}

    assert names - {"name"} <= set(headrace_client.__all__)
    assert {"over_http", "over_websocket", "Rooms"} <= names
