"""What the command line does with files: it sends them, shows them below their message, and saves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headrace_client import Headrace
from headrace_client.attachments import LARGEST
from headrace_client.calls import Sent
from headrace_client.cli.commands import cli

CAT = {"id": "a2", "name": "cat\x1b.png", "type": "image/png", "bytes": 4711}
FOUND = {"timestamp": "2025-11-21T10:00:58.722861Z", "username": "bob", "message": "look"}


def headrace(*arguments: object) -> Result:
    environ = {"HEADRACE": "http://127.0.0.1:1", "TOKEN": "h.p.s", "HEADRACE_PROFILE": "", "COLUMNS": "200"}
    return CliRunner().invoke(cli, [*map(str, arguments)], env=environ)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is uploaded and sent."""
    found: list[Any] = []

    def upload(_: Headrace, room: str, data: bytes, name: str, type: str) -> Any:
        found.append((room, data))
        return {"id": f"a{len(found)}", "name": name, "type": type, "bytes": len(data)}

    def send(_: Headrace, events: list[Any]) -> list[Sent]:
        found.extend(events)
        return [Sent({**each, "messageId": "m"}, "main") for each in events]

    monkeypatch.setattr(Headrace, "upload", upload)
    monkeypatch.setattr(Headrace, "send", send)
    return found


def file_at(path: Path, data: bytes = b"meow") -> Path:
    path.write_bytes(data)
    return path


def test_files_are_sent_beside_the_text_or_give_it(sent: list[Any], tmp_path: Path) -> None:
    cat, notes = file_at(tmp_path / "cat.png"), file_at(tmp_path / "notes.md", b"read")

    assert headrace("send", "lobby", "look", "here", "--attach", cat).exit_code == 0
    assert headrace("send", "lobby", "--attach", cat, "--attach", notes).exit_code == 0

    png = {"name": "cat.png", "type": "image/png", "bytes": 4}
    other = {"name": "notes.md", "type": "application/octet-stream", "bytes": 4}
    assert sent == [
        ("lobby", b"meow"),
        {"roomId": "lobby", "message": "look here", "attachments": [{"id": "a1", **png}]},
        ("lobby", b"meow"),
        ("lobby", b"read"),
        {
            "roomId": "lobby",
            "message": "cat.png, notes.md",
            "attachments": [{"id": "a3", **png}, {"id": "a4", **other}],
        },
    ]


def test_what_cannot_be_attached_is_named_with_its_limit(sent: list[Any], tmp_path: Path) -> None:
    good, empty = file_at(tmp_path / "good"), file_at(tmp_path / "empty", b"")
    large = file_at(tmp_path / "large", b"x" * (LARGEST + 1))
    for paths, said in (
        ([good, tmp_path / "gone"], f"'{tmp_path / 'gone'}' does not exist"),
        ([tmp_path], "is a directory"),
        ([good, empty], "empty is empty; an attachment has 1 to 10,000,000 bytes"),
        ([good, large], "large has 10,000,001 bytes; an attachment has at most 10,000,000"),
        ([*[good] * 10, empty], "empty is one too many: a message has at most 10 attachments"),
        ([], "give MESSAGE, or a file with --attach"),
    ):
        result = headrace("send", "lobby", *(each for path in paths for each in ("--attach", path)))

        assert result.exit_code == 2
        assert said in " ".join(result.output.split()), result.output
    assert sent == []


def test_history_shows_attachments_below_their_message(monkeypatch: pytest.MonkeyPatch) -> None:
    page = {"items": [{**FOUND, "attachments": [CAT, CAT]}, FOUND], "next": None, "hasMore": False}
    monkeypatch.setattr(Headrace, "request", lambda *_: page)

    lines = headrace("history", "lobby").output.splitlines()

    file = "+ cat\N{REPLACEMENT CHARACTER}.png (image/png, 4,711 bytes)"
    assert [line.rstrip().split("  ")[-1].lstrip() for line in lines] == ["message", "look", "look", file, file]


def test_attachments_are_listed_with_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Headrace, "attachments", lambda *_: [{**CAT, "url": "http://a.example/x"}])

    shown = headrace("attachments", "lobby", "k").output.splitlines()

    assert shown == ["+ cat\N{REPLACEMENT CHARACTER}.png (image/png, 4,711 bytes)", "  http://a.example/x"]
    assert json.loads(headrace("attachments", "lobby", "k", "--json").output) == {**CAT, "url": "http://a.example/x"}


def test_attachments_are_saved_in_the_folder_and_overwrite_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, folder = file_at(tmp_path / "source"), tmp_path / "saved"
    folder.mkdir()
    names = ["cat.png", "cat.png", "..", ".bashrc", "..\\up", "a:b"]
    items = [{**CAT, "name": name, "bytes": 4, "url": source.as_uri()} for name in names]
    monkeypatch.setattr(Headrace, "attachments", lambda *_: items)

    result = headrace("attachments", "lobby", "k", "--output", folder)

    assert result.exit_code == 0, result.output
    saved = ["cat.png", "cat-2.png", "attachment", "bashrc", "_up", "a_b"]
    assert {each.name for each in folder.iterdir()} == {*saved}
    assert {each.read_bytes() for each in folder.iterdir()} == {b"meow"}
    assert f"  saved as {folder / 'cat-2.png'}" in result.output.splitlines()


def test_a_name_that_file_systems_find_too_long_is_cut_before_its_ending(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, folder = file_at(tmp_path / "source"), tmp_path / "saved"
    folder.mkdir()
    cat = "\N{CAT FACE}"
    item = {**CAT, "name": f"{cat * 124}.txt", "bytes": 4, "url": source.as_uri()}
    monkeypatch.setattr(Headrace, "attachments", lambda *_: [item, item])

    result = headrace("attachments", "lobby", "k", "--output", folder)

    assert result.exit_code == 0, result.output
    assert {each.name for each in folder.iterdir()} == {f"{cat * 59}.txt", f"{cat * 59}-2.txt"}


def test_a_broken_download_is_said_and_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, folder = file_at(tmp_path / "source"), tmp_path / "saved"
    folder.mkdir()
    for bytes_, url in ((5, source.as_uri()), (3, source.as_uri()), (4, (tmp_path / "gone").as_uri())):
        item = {**CAT, "name": "cat.png", "bytes": bytes_, "url": url}
        monkeypatch.setattr(Headrace, "attachments", lambda *_, item=item: [item])

        result = headrace("attachments", "lobby", "k", "--output", folder)

        assert result.exit_code == 1
        assert result.output.startswith("Error: cat.png ")
    assert list(folder.iterdir()) == []
