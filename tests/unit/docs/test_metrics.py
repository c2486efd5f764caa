"""docs/reference/metrics.md lists the metrics that the code writes, with their dimensions."""

from __future__ import annotations

import ast
import re

from tests.unit.template_stack import ROOT
from tests.worlds.tracked import tracked

PAGE = ROOT / "docs" / "reference" / "metrics.md"
ON_PAGE = {
    name: set(re.findall(r"`(\w+)`", text.partition("**Dimensions:**")[2]))
    for name, text in re.findall(r"^## `(\w+)`\n((?:(?!## ).*\n)*)", PAGE.read_text(), re.M)
}
NAMED_BY_CALLERS = {"counted_as": {"Redriven", "Discarded"}}
"""Names that reach the meter as a variable."""


def in_code() -> dict[str, set[str]]:
    """The dimensions of each metric that the layer counts or measures."""
    found: dict[str, set[str]] = {}
    for path in tracked(ROOT / "layers" / "headrace", "*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and re.search(r"\bmeter\.(count|measure)$", ast.unparse(node.func)):
                name = node.args[0]
                names = {name.value} if isinstance(name, ast.Constant) else NAMED_BY_CALLERS[ast.unparse(name)]
                for each in names:
                    found.setdefault(str(each), set()).update(word.arg for word in node.keywords if word.arg)
    return found


def test_the_page_lists_every_metric_with_its_dimensions() -> None:
    assert in_code() == ON_PAGE
