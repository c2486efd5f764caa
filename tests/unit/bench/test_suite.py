"""A run of benchmarks keeps what it measured, and the check finds what got worse beyond the noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.suite import check
from bench.suite.catalog import BENCHES, Bench
from bench.suite.rounds import Series, figure, ratio
from bench.suite.run import Run, chosen, run_all

COST = [0.10, 0.11, 0.10, 0.12, 0.11]
RATE = [3.4, 3.3, 3.5, 3.2, 3.4]


def run_of(path: Path, cost: list[float], rate: list[float], name: str = "persist") -> Run:
    """A run of one benchmark with a cost, of which less is better, and a rate, of which more is better."""
    series = [
        Series("cost", tuple(cost), "×", "lower"),
        Series("rate", tuple(rate), "×", "higher"),
        figure("time", [sum(cost)], "ms"),
    ]
    facts = {"commit": "abcdef0", "began": "2026-11-23T06:00:00+00:00", "rounds": len(cost), "error": ""}
    return Run(path, {name: {**facts, "series": [vars(each) for each in series]}})


def compared(tmp_path: Path, cost: list[float], rate: list[float]) -> check.Comparison:
    committed = check.ratios_of(run_of(tmp_path / "a.json", COST, RATE))
    return check.compare(committed, check.ratios_of(run_of(tmp_path / "b.json", cost, rate)), [])


def test_a_ratio_is_ours_divided_by_theirs_in_each_round() -> None:
    assert ratio("time", [2.0, 3.0], [4.0, 4.0], "lower").values == (0.5, 0.75)


def test_the_same_run_has_nothing_worse(tmp_path: Path) -> None:
    found = compared(tmp_path, COST, RATE)

    assert found.good
    assert found.same == 2


@pytest.mark.parametrize(
    ("cost", "rate", "worse"),
    [([each * 1.5 for each in COST], RATE, "cost"), (COST, [each / 1.5 for each in RATE], "rate")],
)
def test_a_clearly_worse_ratio_fails_the_check(
    tmp_path: Path, cost: list[float], rate: list[float], worse: str
) -> None:
    found = compared(tmp_path, cost, rate)

    assert not found.good
    assert [line.split(": ")[1] for line in found.worse] == [worse]


def test_a_better_ratio_is_named_and_passes(tmp_path: Path) -> None:
    found = compared(tmp_path, [each / 2 for each in COST], [each * 2 for each in RATE])

    assert found.good
    assert len(found.better) == 2


def test_a_small_change_passes_even_without_spread(tmp_path: Path) -> None:
    committed = {"better": "lower", "median": 1.0, "low": 1.0, "high": 1.0}

    assert check.verdict(committed, {**committed, "median": 1.09, "low": 1.09, "high": 1.09}) == "same"
    assert check.verdict(committed, {**committed, "median": 1.11, "low": 1.11, "high": 1.11}) == "worse"


def test_a_large_change_passes_while_the_intervals_overlap() -> None:
    committed = {"better": "higher", "median": 10.0, "low": 7.0, "high": 12.0}

    assert check.verdict(committed, {**committed, "median": 7.5, "low": 6.0, "high": 8.0}) == "same"
    assert check.verdict(committed, {**committed, "median": 6.5, "low": 6.0, "high": 6.9}) == "worse"


def test_a_missing_ratio_fails_and_a_new_one_is_named(tmp_path: Path) -> None:
    committed = check.ratios_of(run_of(tmp_path / "a.json", COST, RATE))
    now = check.ratios_of(run_of(tmp_path / "b.json", COST, RATE))
    now["persist"]["ratios"]["memory"] = now["persist"]["ratios"].pop("rate")
    found = check.compare(committed, now, [])

    assert found.missing == ["persist: rate"]
    assert [line.split(": ")[1] for line in found.new] == ["memory"]
    assert not found.good


def test_a_benchmark_that_was_not_run_is_named_and_one_that_failed_fails(tmp_path: Path) -> None:
    committed = check.ratios_of(run_of(tmp_path / "a.json", COST, RATE))

    assert check.compare(committed, {}, []).not_run == ["persist"]
    assert check.compare(committed, {}, []).good
    assert not check.compare(committed, {}, ["persist"]).good


def test_figures_that_depend_on_the_machine_are_not_compared(tmp_path: Path) -> None:
    ratios = check.ratios_of(run_of(tmp_path / "a.json", COST, RATE))["persist"]["ratios"]

    assert set(ratios) == {"cost", "rate"}


def test_accepted_ratios_replace_only_those_of_the_benchmarks_that_ran(tmp_path: Path) -> None:
    path = tmp_path / "ratios.json"
    check.accept(check.ratios_of(run_of(tmp_path / "a.json", COST, RATE)), path)
    check.accept(check.ratios_of(run_of(tmp_path / "b.json", COST, RATE, "live")), path)

    assert set(check.read(path)) == {"persist", "live"}


def test_a_benchmark_that_fails_is_recorded_and_the_next_one_runs(tmp_path: Path) -> None:
    run = Run.at(tmp_path / "run.json")
    said: list[str] = []
    run_all(run, ["first", "second"], 1, {"first": Bench("missing", 1), "second": Bench("missing_too", 1)}, said.append)

    assert Run.at(tmp_path / "run.json").failed == ["first", "second"]
    assert sum("FAILED: it ended with exit code 1" in line for line in said) == 2


def test_a_continued_run_has_the_rounds_of_both(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run.json", COST, RATE)
    facts = {"commit": "abcdef1", "began": "2026-11-24T06:00:00+00:00", "rounds": 1}
    run.add("persist", [Series("cost", (0.2,), "×", "lower")], {**facts, "error": ""})

    assert run.benches["persist"]["rounds"] == 6
    assert run.series("persist") == [Series("cost", (*COST, 0.2), "×", "lower")]

    run.add("persist", [], {**facts, "rounds": 0, "error": "it ended with exit code 1"})

    assert run.failed == ["persist"]
    assert check.ratios_of(run) == {}


def test_names_are_chosen_in_the_order_of_the_catalog() -> None:
    assert chosen("persist, publish") == ["publish", "persist"]
    assert chosen("") == list(BENCHES)
    with pytest.raises(ValueError, match="no such benchmark: nothing"):
        chosen("nothing")


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps([]))

    with pytest.raises(ValueError, match="is not the result of make bench"):
        Run.at(path)


def test_every_benchmark_has_committed_ratios() -> None:
    committed: dict[str, Any] = check.read()

    assert committed.keys() == BENCHES.keys()
    for facts in committed.values():
        assert facts["ratios"]
        for each in facts["ratios"].values():
            assert each["low"] <= each["median"] <= each["high"]
