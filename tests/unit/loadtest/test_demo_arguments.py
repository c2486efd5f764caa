"""Wrong and unusual arguments of `make demo` and `make token`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from loadtest import demo

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("option", ["--messages", "--rides", "--seconds"])
def test_an_invalid_number_is_named_in_the_error(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main([option, "abc"])

    assert f"{option}: 'abc' is not a whole number" in capsys.readouterr().err


@pytest.mark.parametrize("user", ["o'neill", "alice smith", 'the "miller"'])
def test_make_passes_a_user_id_on_unchanged(user: str) -> None:
    command = ["make", "--silent", "--old-file=setup", "token", "STAGE=printf '%s\\n'", f"USER_ID={user}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[:3] == ["token", "--user", user]
