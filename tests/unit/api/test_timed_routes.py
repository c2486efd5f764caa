"""``GET /statistics`` knows every route whose function can reach the cache."""

from __future__ import annotations

from localstage.template.document import parse
from tests.unit.template_stack import ROOT, TEMPLATE, TemplateStack

WITHOUT_A_CACHE = {"ManageDeadLetters"}
"""Outside the VPC, and so without a way to the cache; ``docs/ski.md`` says that its routes are missing."""


def test_http_functions_that_reach_the_cache_count_their_times(
    template_stack: TemplateStack,
) -> None:
    written = parse(TEMPLATE.read_text(), TEMPLATE)["Resources"]
    with_routes = {
        name
        for name in template_stack.folders
        if any(event["Type"] == "HttpApi" for event in written[name]["Properties"].get("Events", {}).values())
    }

    timed = {
        name
        for name in with_routes
        if "@timed\ndef handler(" in (ROOT / "functions" / template_stack.folders[name] / "app.py").read_text()
    }

    assert timed == with_routes - WITHOUT_A_CACHE
    for name in timed:
        assert "VpcConfig" in template_stack.resources[name]["Properties"]
        assert template_stack.variables(name) >= {"CACHE_ENDPOINT"}
