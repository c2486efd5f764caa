"""P6 in numbers: the docs and the template say what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from headrace import retry_budget
from ops.__main__ import cli
from ops.budget import Budget
from tests.unit.stack import ROOT, Stack


def test_the_command_prints_the_budget_of_the_defaults() -> None:
    printed = CliRunner().invoke(cli, ["budget"]).output

    assert "15 + 60 + 240 + 900 s" in printed
    assert "1215 s (20.2 minutes)" in printed


def test_the_command_prints_the_budget_of_any_parameter() -> None:
    printed = CliRunner().invoke(cli, ["budget", "--first-pause", "30"]).output

    assert "30 + 120 + 480 + 900 s" in printed
    assert "1530 s (25.5 minutes)" in printed


@pytest.mark.parametrize("page", ["docs/operations.md"])
def test_the_docs_state_the_computed_budget(page: str) -> None:
    text = Path(ROOT / page).read_text()

    budget = Budget.of_stage("default")
    assert budget.pauses in text
    assert budget.total in text


def test_the_template_describes_the_computed_budget(stack: Stack) -> None:
    parameter = stack.parameters["RetryFirstPauseSeconds"]

    assert Budget(int(parameter["Default"]), 0).pauses in parameter["Description"]


def test_a_record_is_dead_at_once_after_its_last_try() -> None:
    assert retry_budget.pause_after(retry_budget.RECEIVES, 15) == 0
    assert retry_budget.pause_after(retry_budget.RECEIVES - 1, 15) == retry_budget.LONGEST_PAUSE


@pytest.mark.parametrize("first_pause", [1, 15, 900])
def test_pauses_only_grow_and_never_exceed_the_longest(first_pause: int) -> None:
    pauses = retry_budget.pauses(first_pause)

    assert list(pauses) == sorted(pauses)
    assert max(pauses) <= retry_budget.LONGEST_PAUSE
    assert len(pauses) == retry_budget.RECEIVES - 1
