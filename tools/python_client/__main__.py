"""``python -m tools.python_client``: writes the modules of the Python client that the API descriptions define."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from tools.python_client.operations import operations
from tools.python_client.types import definitions

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "clients" / "python" / "headrace_client"


def generated() -> dict[Path, str]:
    """The text of each generated module."""
    http, websocket = _description("openapi.json"), _description("asyncapi.json")
    return {
        FOLDER / "types.py": _rendered("types", definitions=definitions(http, websocket)),
        FOLDER / "operations.py": _rendered("operations", operations=operations(http)),
    }


def _description(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / "reference" / name).read_text())
    return found


def _rendered(name: str, **values: Any) -> str:
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    environment = Environment(loader=folder, trim_blocks=True)  # noqa: S701 - Python, not HTML
    text = environment.get_template(f"{name}.py.jinja").render(**values)
    ruff = str(Path(sys.executable).with_name("ruff"))
    command = [ruff, "format", "--stdin-filename", "generated.py", "-"]
    return subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True, cwd=ROOT).stdout


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text)
