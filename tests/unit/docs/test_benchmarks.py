"""Every number in docs/benchmarks.md comes from a command, at a date and commit."""

import re

import pytest

from bench.suite import BENCHES
from tests.unit.template_stack import ROOT

SECTIONS = re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", (ROOT / "docs" / "benchmarks.md").read_text(), re.M)
MEASURED = re.compile(r"^`make [^`]+`, \d{4}-\d\d-\d\d, `[0-9a-f]{7}`\.", re.M)


@pytest.mark.parametrize(("title", "text"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_every_section_names_its_command_date_and_commit(title: str, text: str) -> None:
    assert MEASURED.match(text.lstrip()), title


def test_every_benchmark_has_a_section() -> None:
    page = "".join(text for _, text in SECTIONS)

    assert [name for name in BENCHES if f"`make bench BENCH={name}" not in page] == []
