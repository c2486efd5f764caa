"""The documentation site has every page."""

import re

from tests.unit.template_stack import ROOT
from tests.worlds.tracked import tracked


def test_the_menu_of_the_site_has_every_page_except_single_decisions() -> None:
    docs = ROOT / "docs"
    listed = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = {str(path.relative_to(docs)) for path in tracked(docs, "*.md") if not re.match(r"\d{4}-", path.name)}

    assert set(listed) == pages


def test_no_page_links_to_a_markdown_page_that_the_site_lacks() -> None:
    """``make docs`` refuses such a link."""
    docs = ROOT / "docs"
    for page in tracked(docs, "*.md"):
        for target in re.findall(r"\]\(([\w./-]+\.md)[#)]", page.read_text()):
            assert (page.parent / target).resolve().is_relative_to(docs), f"{page}: {target}"
            assert (page.parent / target).is_file(), f"{page}: {target}"
