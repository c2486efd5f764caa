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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stream", "ski", "--messages", "5"], "--messages is of --stream chat, and the stream is ski"),
        (["--rides", "2000"], "--rides is of --stream ski, and the stream is chat"),
        (["--nicks", "none"], "'none' is neither all nor a number from 1"),
    ],
)
def test_an_option_without_an_effect_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        demo.main(arguments)

    assert message in capsys.readouterr().err


def test_nicks_without_logs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--nicks", "all"]) == 1
    assert "is for IRC logs" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"\x00\x01\xff\n", b"2010-01-01 10:00:00\talice\thello\n"])
def test_a_log_of_another_form_fails_and_says_the_form(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "2010-01-01.log").write_bytes(content)

    assert demo.main(["--log", str(tmp_path / "*.log")]) == 1
    assert "a message is a line such as: [12:18] <nick> text" in capsys.readouterr().err


@pytest.mark.parametrize("user", ["o'neill", "alice smith", 'the "miller"', "a$b", "x; echo y"])
def test_make_passes_a_user_id_on_unchanged(user: str) -> None:
    command = ["make", "--silent", "--old-file=setup", "token", "STAGE=printf '%s\\n'", f"USER_ID={user}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[:3] == ["token", "--user", user]


def test_the_help_of_make_fits_a_terminal_of_120_columns() -> None:
    done = subprocess.run(["make", "--silent", "help"], cwd=ROOT, capture_output=True, text=True, check=True)

    assert max(map(len, done.stdout.splitlines())) <= 120


def test_one_url_of_a_stage_is_not_enough(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HTTP_URL", "https://api.example")

    assert demo.main(["--messages", "5"]) == 1
    assert "give both HTTP_URL and WS_URL, or neither" in capsys.readouterr().err


def test_a_stage_elsewhere_does_not_stay_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"HTTP_URL": "https://api.example", "WS_URL": "wss://ws.example", "TOKEN": "t"}.items():
        monkeypatch.setenv(name, value)

    assert demo.main(["--stay"]) == 1
    assert "make run starts a stage here" in capsys.readouterr().err
