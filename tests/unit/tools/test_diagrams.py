"""The diagrams of the docs are those that make draws, and show functions that exist."""

import re

import pytest

from tests.unit.template_stack import ROOT
from tools.dashboard import picture
from tools.dashboard.definition import widgets
from tools.dashboard.recording import Recording
from tools.diagrams import DIAGRAMS, FOLDER, svg


def test_every_diagram_is_the_one_that_the_script_draws() -> None:
    drawn = {f"{name}.svg": svg(*diagram) for name, diagram in DIAGRAMS.items()}
    drawn[picture.PICTURE.name] = picture.svg(widgets(), Recording.read())

    assert drawn == {path.name: path.read_text() for path in FOLDER.glob("*.svg")}


@pytest.mark.parametrize("name", DIAGRAMS)
def test_every_function_in_a_diagram_exists(name: str) -> None:
    boxes = [box for box in DIAGRAMS[name][1].values() if box.kind == "function"]
    functions = {word for box in boxes for word in re.findall(r"[a-z]+_[a-z_]+", f"{box.title} {box.note}")}

    assert len(functions) >= len(boxes)
    assert functions <= {path.name for path in (ROOT / "functions").iterdir()}
