"""Wrong options are refused in one sentence before anything is sent."""

from __future__ import annotations

import pytest

from loadtest.load import main


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--scale", "0"], "'0' is not a number above 0"),
        (["--scale", "inf"], "'inf' is not a number above 0"),
        (["--scale", "many"], "'many' is not a number above 0"),
        (["--seconds", "-1"], "'-1' is not a number above 0"),
        (["--messages", "0"], "'0' is not a whole number from 1"),
        (["--messages", "-5"], "'-5' is not a whole number from 1"),
        (["--connections", "0"], "'0' is not a whole number from 1"),
        (["--processes", "1.5"], "'1.5' is not a whole number from 1"),
        (["--shape", "unknown"], "invalid choice: 'unknown'"),
    ],
)
def test_a_wrong_option_is_refused(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)

    assert reason in capsys.readouterr().err
