"""The folders of the load test import each other in one direction."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ORDER = (
    "client",
    "measured",
    "checker",
    "sending",
    "samples",
    "chat",
    "ski",
    "ads",
    "shapes",
    "runs",
    "users",
    "report",
)
STREAMS = {"chat", "ski", "ads"}
MAY_IMPORT = {folder: set(ORDER[: ORDER.index(folder)]) - (STREAMS & {folder} and STREAMS) for folder in ORDER}
"""Each folder imports those before it; a stream imports no other stream."""


def imported(path: Path) -> set[str]:
    """The modules that ``path`` imports, at any level of its code."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return names | {f"{node.module}.{alias.name}" for node in froms for alias in node.names}


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_folders_below_it(folder: str) -> None:
    allowed = {"loadtest." + name for name in MAY_IMPORT[folder] | {folder}}

    for path in (ROOT / "loadtest" / folder).glob("*.py"):
        own = {name for name in imported(path) if name.startswith("loadtest.")}
        assert {".".join(name.split(".")[:2]) for name in own} <= allowed, path
