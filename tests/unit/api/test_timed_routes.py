"""``GET /statistics`` knows every route whose function can reach the cache."""

from __future__ import annotations

from localstage.template.document import parse
from tests.unit.stack import ROOT, TEMPLATE, Stack

WITHOUT_A_CACHE = {"ManageDeadLetters"}
"""Outside the VPC, and so without a way to the cache; ``docs/ski.md`` says that its routes are missing."""


def test_every_http_function_that_reaches_the_cache_counts_its_times(stack: Stack) -> None:
    written = parse(TEMPLATE.read_text(), TEMPLATE)["Resources"]
    with_routes = {
        name
        for name in stack.folders
        if any(event["Type"] == "HttpApi" for event in written[name]["Properties"].get("Events", {}).values())
    }

    timed = {
        name for name in with_routes if is_timed((ROOT / "functions" / stack.folders[name] / "app.py").read_text())
    }

    assert timed >= with_routes - WITHOUT_A_CACHE
    for name in timed - WITHOUT_A_CACHE:
        assert "VpcConfig" in stack.resources[name]["Properties"]
        assert stack.variables(name) >= {"CACHE_ENDPOINT", "CACHE_TLS"}


def is_timed(source: str) -> bool:
    """A router of HTTP routes counts their times where there is a cache; other handlers are decorated."""
    return "handler = http_api(" in source or "@timed\ndef handler(" in source
