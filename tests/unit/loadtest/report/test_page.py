"""The page of a run shows its verdict, its tables and a plot of everything that was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from loadtest.report.__main__ import main
from loadtest.report.document import WrongDocument, newest, read
from loadtest.report.page import page_of
from loadtest.report.tables import comparison
from tests.unit.loadtest.report.runs import made_run


@pytest.fixture
def without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without plots, which take a second to draw."""
    monkeypatch.setattr("loadtest.report.page.charts", lambda _: [])


def test_the_verdict_and_the_counts_are_on_the_page() -> None:
    page = page_of(made_run())

    assert "Everything that was accepted is stored once, unchanged." in page
    assert "accepted=3,000 of 3,000, stored=3,000 lost=0" in page
    for row in ("sent again: unavailable", "reconnections", "deepest queue: main", "lane: main"):
        assert f">{row}</td>" in page
    assert "frames of 25: questions=30 failed=0" in page
    assert "Partial:" not in page
    assert not re.search(r"(?:src|href)=\"[^#]", page)  # it needs no network


@pytest.mark.usefixtures("without_plots")
def test_a_fault_is_in_the_verdict() -> None:
    page = page_of(made_run(lost=2, examples={"lost": ["<room>/m-1"]}))

    assert "Faults: lost 4." in page
    assert "&lt;room&gt;/m-1" in page
    assert "<room>" not in page


def test_two_runs_are_compared_with_their_ratio() -> None:
    table = comparison(made_run(), made_run(ack=0.06, cpu=1.0))[0]
    rows = {name: (one, other, ratio) for name, one, other, ratio in table.rows}

    assert (table.title, table.heads) == ("frames of 25", ("", "A", "B", "B/A"))
    assert rows["accepted/s"] == ("100", "100", "1.00×")
    assert rows["ack p99, ms"] == ("20.02", "60.03", "3.00×")
    assert rows["CPU of Redis, µs/event"] == ("5,167", "10,333", "2.00×")
    assert rows["peak memory of Redis, MB"] == ("13", "13", "1.00×")
    assert rows["deepest retry queue"] == ("2", "2", "1.00×")
    assert rows["write units/event"] == ("3.1", "3.1", "1.00×")


@pytest.mark.usefixtures("without_plots")
def test_the_commands_write_pages_beside_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        path.write_text(json.dumps(made_run()))

    assert main(["--run", str(paths[0])]) == 0
    assert main(["--a", str(paths[0]), "--b", str(paths[1])]) == 0

    assert {path.name for path in tmp_path.glob("*.html")} == {"a.html", "a-and-b.html"}
    assert f"report: {tmp_path / 'a-and-b.html'}" in capsys.readouterr().out
    assert ">ack p99, ms</td><td>20.02</td><td>20.02</td><td>1.00×</td>" in (tmp_path / "a-and-b.html").read_text()
    assert newest(tmp_path) == paths[1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "this is not the result of a load run"),
        ("[]", "this is not the result of a load run"),
        ('{"run": "x", "shape": {}, "phases": []}', "this result has format 1, not 2"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_expected(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)

    with pytest.raises(WrongDocument, match=sentence):
        read(path)
