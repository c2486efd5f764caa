"""Every number in docs/benchmarks.md comes from a command, at a date and commit."""

import re
from datetime import date

import pytest

from bench.suite import BENCHES
from tests.unit.template_stack import ROOT
from tools.figures import RUN

SECTIONS = re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", (ROOT / "docs" / "benchmarks.md").read_text(), re.M)
MEASURED = re.compile(rf"`make [^`]+`, {RUN.pattern}\.")


@pytest.mark.parametrize(("title", "text"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_every_section_names_its_command_date_and_commit(title: str, text: str) -> None:
    first = MEASURED.match(text.lstrip())

    assert first, title
    assert first[2], f"{title}: a commit of 7 digits or more"
    assert all(date.fromisoformat(day) for day, _, _ in RUN.findall(text))


def test_every_benchmark_has_a_section() -> None:
    page = "".join(text for _, text in SECTIONS)

    assert [name for name in BENCHES if f"`make bench BENCH={name}" not in page] == []
