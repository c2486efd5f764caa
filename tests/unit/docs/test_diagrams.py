"""The diagrams of the docs show functions that exist."""

import re

import pytest

from tests.unit.template_stack import ROOT

TEXT = re.compile(r"<text[^>]*>([^<]+)</text>")
FUNCTIONS = {path.name for path in (ROOT / "functions").iterdir()}


@pytest.mark.parametrize("name", ["architecture", "read-path"])
def test_every_function_in_a_diagram_exists(name: str) -> None:
    texts = TEXT.findall((ROOT / "docs" / "diagrams" / f"{name}.svg").read_text())
    named = {word for text in texts for word in re.findall(r"\b[a-z]+_[a-z_]+", text)}

    assert named
    assert named <= FUNCTIONS
