"""Errors in the arguments of a command."""

from __future__ import annotations

import pytest

from loadtest.client.command import Parser, count


@pytest.mark.parametrize(
    ("variables", "printed"),
    [
        ({"MAKELEVEL": "1"}, "headrace: MESSAGES: 'abc' is not a whole number from 1\n"),
        ({"MAKELEVEL": "1", "ARGS": "--messages abc"}, "argument --messages: 'abc' is not"),
        ({}, "argument --messages: 'abc' is not"),
    ],
)
def test_an_error_names_makes_variable_where_make_runs_the_command(
    variables: dict[str, str], printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("MAKELEVEL", "ARGS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    parser = Parser()
    parser.add_argument("--messages", type=count)

    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["--messages", "abc"])

    assert ended.value.code == 2
    assert printed in capsys.readouterr().err
