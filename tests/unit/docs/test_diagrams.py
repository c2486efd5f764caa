"""The diagrams of the docs are those that ``make diagrams`` draws, and show functions that exist."""

import re
import runpy

import pytest

from tests.unit.template_stack import ROOT

FOLDER = ROOT / "docs" / "diagrams"
DRAW = runpy.run_path(str(FOLDER / "draw.py"))


def test_every_diagram_is_the_one_that_the_script_draws() -> None:
    drawn = {f"{name}.svg": DRAW["svg"](*diagram) for name, diagram in DRAW["DIAGRAMS"].items()}

    assert drawn == {path.name: path.read_text() for path in FOLDER.glob("*.svg")}


@pytest.mark.parametrize("name", DRAW["DIAGRAMS"])
def test_every_function_in_a_diagram_exists(name: str) -> None:
    boxes = [box for box in DRAW["DIAGRAMS"][name][1].values() if box.kind == "function"]
    functions = {word for box in boxes for word in re.findall(r"[a-z]+_[a-z_]+", f"{box.title} {box.note}")}

    assert len(functions) >= len(boxes)
    assert functions <= {path.name for path in (ROOT / "functions").iterdir()}
