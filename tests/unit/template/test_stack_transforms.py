"""What AWS's own transforms do to the templates, where SAM's and the emulator's copies are kinder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localstage.template.document import parse
from tests.unit.template_stack import ROOT, TEMPLATE

EXTENSIONS = "AWS::LanguageExtensions"
TEMPLATES = [TEMPLATE, *sorted((ROOT / "templates").glob("*.yaml"))]


def transforms_of(document: dict[str, Any]) -> list[str]:
    found = document.get("Transform", [])
    return [found] if isinstance(found, str) else found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_that_sam_translates_uses_language_extensions(path: Path) -> None:
    """They resolve parameters before SAM makes logical ids of them, and ids would depend on values.

    https://github.com/aws-cloudformation/cfn-language-discussion/issues/109
    """
    found = transforms_of(parse(path.read_text(), path))

    assert found in ([], [EXTENSIONS], ["AWS::Serverless-2016-10-31"])


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_language_extensions_select_from_no_list_that_a_parameter_can_make_too_short(path: Path) -> None:
    """They evaluate it also in a branch that is not taken.

    https://github.com/aws-cloudformation/cfn-language-discussion/issues/159
    """
    document = parse(path.read_text(), path)
    if EXTENSIONS in transforms_of(document):
        selected = [one[1] for one in values_of("Fn::Select", document)]
        assert [one for one in selected if "Fn::Split" in json.dumps(one)] == []


def values_of(name: str, node: Any) -> Iterator[Any]:
    """The arguments of every call of an intrinsic function."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == name:
                yield value
            yield from values_of(name, value)
    elif isinstance(node, list):
        for value in node:
            yield from values_of(name, value)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_resource_or_output_begins_with_its_condition(path: Path) -> None:
    """The transform reports "Condition layout is incorrect" for some.

    https://github.com/aws-cloudformation/cfn-language-discussion/issues/147
    """
    document = parse(path.read_text(), path)
    parts = [*document["Resources"].items(), *document.get("Outputs", {}).items()]

    assert [name for name, one in parts if next(iter(one)) == "Condition"] == []
