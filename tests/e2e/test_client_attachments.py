"""Files beside messages on a whole stage, with the Python client and its command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.request import urlopen

from click.testing import CliRunner

from headrace_client import Headrace
from headrace_client.cli.commands import cli
from tests.e2e.clients import Client, unique, until


def read(url: str) -> bytes:
    with urlopen(url, timeout=10) as answer:
        return bytes(answer.read())


def test_a_file_is_uploaded_named_and_read_by_another_user(alice: Client, bob: Client) -> None:
    room = unique("room")
    where = alice.stage.where["http_url"]
    with Headrace(where, lambda: alice.token) as client, Headrace(where, lambda: bob.token) as other:
        client.create_room(room, {"kind": "open"})
        notes = client.upload(room, b"bring plates", "notes.txt")
        client.send([{"roomId": room, "message": "my notes", "attachments": [notes]}])
        (message,) = until(lambda: other.list_messages(room)["items"], bool)
        shown: list[Any] = message["attachments"]
        again = other.attachments(room, message["key"])
        (refused,) = other.send([{"roomId": room, "message": "mine", "attachments": [notes]}], raise_for_errors=False)

    assert notes == {"id": notes["id"], "name": "notes.txt", "type": "text/plain", "bytes": 12}
    assert [{**each, "url": ""} for each in (*shown, *again)] == [{**notes, "url": ""}] * 2
    assert {read(each["url"]) for each in (*shown, *again)} == {b"bring plates"}
    assert refused.error is not None
    assert refused.error["details"][0]["field"] == "attachments[0].id"


def test_the_command_line_sends_shows_and_saves_files(alice: Client, tmp_path: Path) -> None:
    room = unique("room")
    environ = {"HEADRACE": alice.stage.where["http_url"], "TOKEN": alice.token, "COLUMNS": "200"}

    def headrace(*arguments: object) -> str:
        result = CliRunner().invoke(cli, [*map(str, arguments)], env=environ)
        assert result.exit_code == 0, result.output
        return result.output

    with Headrace(alice.stage.where["http_url"], lambda: alice.token) as client:
        client.create_room(room, {"kind": "open"})
        (tmp_path / "notes.txt").write_text("bring plates")
        headrace("send", room, "--attach", tmp_path / "notes.txt")
        (message,) = until(lambda: client.list_messages(room)["items"], bool)
    printed = headrace("history", room)
    headrace("attachments", room, message["key"], "--output", tmp_path)

    assert message["message"] == "notes.txt"
    assert "+ notes.txt (text/plain, 12 bytes)" in printed
    assert (tmp_path / "notes-2.txt").read_text() == "bring plates"
