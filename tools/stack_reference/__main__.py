"""Writes the generated pages of docs/reference; each module generates one."""

from __future__ import annotations

from pathlib import Path

from tools.stack_reference import alarms, commands, costs, parameters, settings
from tools.stack_reference.markdown import ROOT

REFERENCE = ROOT / "docs" / "reference"


def render_all() -> dict[Path, str]:
    """Each page's path and text."""
    modules = (settings, parameters, alarms, costs, commands)
    return {REFERENCE / f"{module.__name__.rpartition('.')[2]}.md": module.render() for module in modules}


if __name__ == "__main__":
    for path, text in render_all().items():
        path.write_text(text)
