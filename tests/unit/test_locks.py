"""The lock files of Python packages."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.template_stack import ROOT


def pins(path: Path) -> dict[str, str]:
    """The version of each package in a lock file."""
    return dict(re.findall(r"^([\w.-]+)==([^ ;\\]+)", path.read_text(), re.M))


def test_the_tests_run_with_the_packages_that_the_layer_ships() -> None:
    tested, shipped = pins(ROOT / "requirements/dev.txt"), pins(ROOT / "layers/dependencies/requirements.txt")

    assert len(shipped) > 10
    assert {name: version for name, version in shipped.items() if tested.get(name) != version} == {}
