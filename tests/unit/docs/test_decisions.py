"""docs/adr/README.md lists every decision record by its number and title."""

import re

from tests.unit.template_stack import ROOT

FOLDER = ROOT / "docs" / "adr"


def test_the_index_lists_every_record_by_its_title() -> None:
    titles = [(path.name, path.read_text().splitlines()[0]) for path in sorted(FOLDER.glob("0*.md"))]
    listed = re.findall(r"^- \[(\d+)\]\((.+)\): (.+)$", (FOLDER / "README.md").read_text(), re.M)

    assert [(name, f"# {number}. {title}") for number, name, title in listed] == titles
    assert len({name[:4] for name, _ in titles}) == len(titles)
