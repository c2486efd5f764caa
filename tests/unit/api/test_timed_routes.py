"""``GET /statistics`` knows every route whose function can reach the cache."""

from __future__ import annotations

from localstage.template.document import parse
from tests.unit.stack import ROOT, TEMPLATE, Stack

WITHOUT_A_CACHE = {"ManageDeadLetters"}
"""Outside the VPC, and so without a way to the cache; ``docs/ski.md`` says that its routes are missing."""


def test_every_function_with_http_routes_counts_their_times_unless_it_cannot_reach_the_cache(stack: Stack) -> None:
    written = parse(TEMPLATE.read_text(), TEMPLATE)["Resources"]
    with_routes = {
        name
        for name in stack.folders
        if any(event["Type"] == "HttpApi" for event in written[name]["Properties"].get("Events", {}).values())
    }

    timed = {
        name
        for name in with_routes
        for text in [(ROOT / "functions" / stack.folders[name] / "app.py").read_text()]
        if "@timed\ndef handler(" in text or "handler = http_api(" in text
    }

    assert timed == with_routes - WITHOUT_A_CACHE
    for name in timed:
        assert "VpcConfig" in stack.resources[name]["Properties"]
        assert stack.variables(name) >= {"CACHE_ENDPOINT", "CACHE_TLS"}
