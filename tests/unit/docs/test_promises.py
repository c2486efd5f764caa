"""docs/explanation/promises.md defines every promise and fault that code, tests and docs cite by number."""

import re
from pathlib import Path

import pytest

from tests.unit.template_stack import ROOT
from tests.worlds.tracked import tracked

PAGE = ROOT / "docs" / "explanation" / "promises.md"
FOLDERS = ("layers", "functions", "localstage", "loadtest", "faults", "bench", "ops", "clients", "docs", "tests")
FILES = [
    *(path for folder in FOLDERS for path in tracked(ROOT / folder) if path.suffix in (".py", ".md", ".yaml")),
    *(ROOT / name for name in ("README.md", "Makefile", "template.yaml", "samconfig.toml")),
]
PROMISE = re.compile(r"(?:\bP|\btest_p)(\d+)(?=\b|_)")
FAULT = re.compile(r"\bfaults? (\d+)(?: and (\d+))?\b", re.I)

SECTIONS = {
    int(number): re.findall(r"`(tests/[\w/]+\.py)`", text)
    for number, text in re.findall(r"^### P(\d+): .+\n((?:(?!#).*\n)*)", PAGE.read_text(), re.M)
}
FAULTS = [int(number) for number in re.findall(r"^\| (\d+) \| .+ \|$", PAGE.read_text(), re.M)]


def cited(pattern: re.Pattern[str], files: list[Path]) -> set[int]:
    """The numbers that these files cite."""
    found = (groups for path in files if path != PAGE for groups in pattern.findall(path.read_text()))
    return {int(number) for groups in found for number in (groups if isinstance(groups, tuple) else [groups]) if number}


def test_every_cited_promise_is_defined_and_every_promise_is_cited() -> None:
    assert list(SECTIONS) == sorted(cited(PROMISE, FILES))


def test_every_cited_fault_is_defined_and_every_fault_has_a_test() -> None:
    assert sorted(FAULTS) == sorted(cited(FAULT, FILES))
    assert set(FAULTS) == cited(FAULT, [path for path in FILES if "tests" in path.parts])


@pytest.mark.parametrize("number", SECTIONS)
def test_every_test_that_a_promise_names_cites_it(number: int) -> None:
    files = [ROOT / path for path in SECTIONS[number]]

    assert files
    assert [path for path in files if number not in cited(PROMISE, [path])] == []
