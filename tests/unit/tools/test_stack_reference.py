"""The generated pages of docs/reference are up to date."""

from pathlib import Path

import pytest

from tools.stack_reference.__main__ import REFERENCE, render_all

PAGES = render_all()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text() == PAGES[path], f"{path.relative_to(REFERENCE.parent)} is stale; run: make reference"
