"""The stage's folders import each other in one direction, and nothing that is built on the stage."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "localstage"
BUILT_ON_IT = {"bench", "clients", "faults", "functions", "headrace", "headrace_client", "loadtest", "ops", "tests"}


def imports(root: Path) -> Iterator[tuple[Path, str]]:
    """Each module below ``root`` with each name that it imports, wherever in the module."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((path, name.name) for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from ((path, f"{node.module}.{name.name}") for name in node.names)


def folders(root: Path) -> dict[str, set[str]]:
    """The folders that each folder imports; the modules beside the folders are the folder ``.``."""
    graph: dict[str, set[str]] = {}
    for path, name in imports(root):
        package, *inner = name.split(".")
        if package == root.name:
            folder = str(path.parent.relative_to(root))
            imported = inner[0] if inner and (root / inner[0]).is_dir() else "."
            graph.setdefault(folder, set()).update({imported} - {folder})
    return graph


def test_folders_import_each_other_in_one_direction() -> None:
    order = list(TopologicalSorter(folders(ROOT)).static_order())

    assert order[0] == "core"
    assert order[-1] == "."


def test_a_cycle_between_folders_is_found(tmp_path: Path) -> None:
    for name, line in {"core": "from stage.gateway import api", "gateway": "import stage.core"}.items():
        (tmp_path / "stage" / name).mkdir(parents=True)
        (tmp_path / "stage" / name / "__init__.py").write_text(f"def late():\n    {line}\n")

    with pytest.raises(CycleError, match="core"):
        list(TopologicalSorter(folders(tmp_path / "stage")).static_order())


def test_the_stage_imports_nothing_that_is_built_on_it() -> None:
    backwards = [
        f"{path.relative_to(ROOT)}: {name}" for path, name in imports(ROOT) if name.split(".")[0] in BUILT_ON_IT
    ]

    assert not backwards
