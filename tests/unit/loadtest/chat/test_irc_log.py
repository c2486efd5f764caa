"""IRC logs become events: one per message line, in order, with identical text and stable ids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadtest import demo
from loadtest.chat.irc_log import read_log, read_logs, user_id
from localstage.client.errors import ClientError

SAMPLES = Path(__file__).with_name("irc")
REAL = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "irc"
LOGS = sorted(SAMPLES.glob("*.log")) + sorted(REAL.glob("*.log"))
SAID = re.compile(rb"^\[(?:[01]\d|2[0-3]):[0-5]\d\] <[^>]+>(?: (.*))?$", re.DOTALL)


def log_of(folder: Path, content: bytes, name: str = "2004-11-15.log") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_every_message_line_is_one_message_with_identical_text(path: Path) -> None:
    matches = [SAID.match(line) for line in path.read_bytes().split(b"\n")]
    expected = [match[1] or b"" for match in matches if match]

    log = read_log(path)

    assert [message.message.encode() for message in log.messages] == expected
    assert log.kinds["message"] == len(expected)


def test_a_line_that_is_not_utf_8_is_latin_1(tmp_path: Path) -> None:
    path = log_of(tmp_path, "[10:00] <a> café\n".encode("latin-1") + "[10:01] <b> café ☕\n".encode())

    assert [message.message for message in read_log(path).messages] == ["café", "café ☕"]


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        (["23:58", "23:59", "00:00", "00:01"], ["15T23:58", "15T23:59", "16T00:00", "16T00:01"]),
        (["22:00", "03:00", "22:00", "01:00"], ["15T22:00", "16T03:00", "16T22:00", "17T01:00"]),
        (["13:00", "01:00"], ["15T13:00", "16T01:00"]),
        (["12:18", "12:59", "01:00", "04:51"], ["15T12:18", "15T12:59", "15T13:00", "15T16:51"]),
        (["11:59", "00:00", "00:03"], ["15T11:59", "15T12:00", "15T12:03"]),
        (["10:05", "10:04", "10:06"], ["15T10:05", "15T10:05", "15T10:06"]),
    ],
    ids=["midnight", "two nights", "a silent afternoon", "12-hour clock", "12-hour clock from 0", "put back"],
)
def test_times_continue_after_midnight(tmp_path: Path, stamps: list[str], expected: list[str]) -> None:
    path = log_of(tmp_path, "".join(f"[{stamp}] <a> x\n" for stamp in stamps).encode())

    assert [message.timestamp[8:16] for message in read_log(path).messages] == expected


def test_a_hash_in_a_nick_or_name_never_reaches_an_id(tmp_path: Path) -> None:
    log = read_log(log_of(tmp_path, b"[10:00] <a#b\x02> x\n[10:01] < > y\n", "2004-11-15#ubuntu.log"))

    assert log.room_id == "irc-channel-2004-11-15\N{FULLWIDTH NUMBER SIGN}ubuntu"
    assert [message.user_id for message in log.messages] == ["a\N{FULLWIDTH NUMBER SIGN}b", "_"]
    assert user_id("sinope[crashed] ") == "sinope[crashed]"


@pytest.mark.parametrize("name", ["ubuntu.log", "2004-13-45.log"])
def test_a_log_without_a_date_in_its_name_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ClientError, match=name):
        read_log(log_of(tmp_path, b"", name))


def test_two_logs_that_would_share_a_room_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    paths = [log_of(tmp_path / folder, b"") for folder in ("a", "b")]

    with pytest.raises(ClientError, match="share a room"):
        read_logs(paths)


def test_a_log_that_does_not_exist_is_reported_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(["--log", "/nowhere/*.log"]) == 1
    assert capsys.readouterr().err == "headrace: LOG: no file matches /nowhere/*.log\n"
