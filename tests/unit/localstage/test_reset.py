"""``reset`` deletes the stage's data after a yes, and nothing without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from localstage.cli import cli


def reset(state_dir: Path, *options: str, answer: str = "") -> Result:
    (state_dir / "logs").mkdir(exist_ok=True)
    return CliRunner().invoke(cli, ["--state-dir", str(state_dir), "reset", *options], input=answer)


@pytest.mark.parametrize("answer", ["n\n", ""], ids=["no", "no input"])
def test_nothing_is_deleted_without_a_yes_and_the_yes_option_is_named(tmp_path: Path, answer: str) -> None:
    result = reset(tmp_path, answer=answer)

    assert result.exit_code == 1
    assert (tmp_path / "logs").exists()
    assert "add YES=1" in result.output
