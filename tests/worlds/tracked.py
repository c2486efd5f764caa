"""The files of the repository, without what a build or an editor leaves beside them."""

from __future__ import annotations

import ast
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def files() -> tuple[Path, ...]:
    """What git tracks, and new files that it does not ignore."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return tuple(path for name in sorted(filter(None, names.split("\0"))) if (path := ROOT / name).is_file())


def tracked(folder: Path, pattern: str = "*") -> list[Path]:
    """Those in ``folder``, or below it, whose name matches ``pattern``."""
    return [path for path in files() if path.is_relative_to(folder) and fnmatch(path.name, pattern)]


@cache
def imports(path: Path) -> set[str]:
    """The names that the module at ``path`` imports, of modules and of what is in them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{each.name}" for each in node.names}
    return names
