"""The output and exit codes of the fault scenario commands."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import faults.__main__ as command
from faults.__main__ import main
from faults.harness.harness import Harness
from faults.harness.ledger import Row
from faults.scenarios import SCENARIOS
from localstage.client.running_stage import ROOT
from localstage.core.errors import AlreadyRunning
from localstage.services.services import BROKER_NODES


def test_an_unknown_scenario_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker-kiled"]) == 2

    message = capsys.readouterr().err
    assert "no such scenario: broker-kiled" in message
    assert all(name in message for name in SCENARIOS)


def row(scenario: str, *problems: str) -> Row:
    return Row(10, 9, len(problems), 0, 3, problems=problems, scenario=scenario, seconds=1.0, retried=2)


def test_a_second_run_in_a_folder_is_refused_and_deletes_no_data(tmp_path: Path) -> None:
    data = tmp_path / "services" / "services"
    data.mkdir(parents=True)
    with (tmp_path / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(AlreadyRunning, match="one at a time"), Harness(tmp_path):
            pass

    assert data.exists()


def test_every_scenario_is_documented() -> None:
    page = (ROOT / "docs" / "explanation" / "fault-scenarios.md").read_text(encoding="utf-8")

    assert [name for name in SCENARIOS if f"`{name}`" not in page] == []


class IdleHarness:
    """Starts nothing."""

    stopped = 0

    def __init__(self, variables: Mapping[str, str], parameters: Mapping[str, str]) -> None:
        assert variables == {BROKER_NODES: "1"}
        assert parameters == {}

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        IdleHarness.stopped += 1


def play(monkeypatch: pytest.MonkeyPatch, **scenarios: Callable[[Harness], Row]) -> int:
    """The command's exit code for these scenarios."""
    monkeypatch.setattr(command, "Harness", IdleHarness)
    monkeypatch.setattr(command, "SCENARIOS", scenarios)
    IdleHarness.stopped = 0
    return main(list(scenarios))


def good(_harness: Harness) -> Row:
    """Returns a row without a problem."""
    return row("good")


def bad(_harness: Harness) -> Row:
    """Returns a row with a lost event."""
    return row("bad", "lost 1: ['id']")


def test_a_broken_promise_exits_with_1_after_all_other_scenarios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(monkeypatch, good=good) == 0
    assert play(monkeypatch, bad=bad, good=good) == 1

    shown = capsys.readouterr().out
    assert "lost 1: ['id']" in shown
    assert "2 of 2  good: Returns a row without a problem." in shown
