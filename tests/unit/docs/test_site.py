"""The documentation site has every page."""

import re

from tests.unit.template_stack import ROOT


def test_the_menu_of_the_site_has_every_page_except_single_decisions() -> None:
    docs = ROOT / "docs"
    listed = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md") if not re.match(r"\d{4}-", path.name)}

    assert set(listed) == pages
