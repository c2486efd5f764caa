"""A run of benchmarks keeps what it measured, and the check finds what got worse beyond the noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import suite

COST = {"better": "lower", "median": 1.0, "low": 0.9, "high": 1.1}
RATE = {"better": "higher", "median": 10.0, "low": 7.0, "high": 12.0}


def verdict(committed: dict[str, Any], **now: float) -> str:
    ratios = {"persist": {"ratios": {"it": committed}}}, {"persist": {"ratios": {"it": {**committed, **now}}}}
    ((found, _),) = suite.compare(*ratios)
    return found


@pytest.mark.parametrize(
    ("committed", "now", "found"),
    [
        (COST, {}, "same"),
        (COST, {"median": 1.5, "low": 1.3, "high": 1.6}, "worse"),
        (COST, {"median": 0.5, "low": 0.4, "high": 0.6}, "better"),
        (COST, {"median": 1.09, "low": 1.2, "high": 1.2}, "same"),
        (RATE, {"median": 6.5, "low": 6.0, "high": 6.9}, "worse"),
        (RATE, {"median": 7.5, "low": 6.0, "high": 8.0}, "same"),
    ],
)
def test_a_ratio_is_worse_only_beyond_a_tenth_and_with_intervals_apart(
    committed: dict[str, Any], now: dict[str, float], found: str
) -> None:
    assert verdict(committed, **now) == found


def test_a_benchmark_that_fails_is_named_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "BENCHES", {"first": "missing", "second": "missing_too"})

    assert suite.measure(["first", "second"], 1, [], tmp_path / "run.json") == ["first", "second"]
    assert "second FAILED: exit code 1" in capsys.readouterr().out


def test_wrong_options_are_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps([]))

    assert suite.main(["--bench", "nothing"]) == 1
    assert suite.main(["--check", "--run", str(path)]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("headrace: no such benchmark: nothing; there are publish, ")
    assert second == f"headrace: {path} is not the result of make bench"
