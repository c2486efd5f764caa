"""What the command line of the Python client prints."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from headrace_client import Grant, Headrace, Refused, Unavailable, Unreachable
from headrace_client.cli.commands import cli
from headrace_client.cli.profiles import Profile
from headrace_client.cli.show import Said
from tests.unit.template_stack import ROOT

HOSTILE = "[red]x[/nope]\x1b[31m\x9b\u202e"
FOUND = {"timestamp": "2025-11-21T10:00:58.722861Z", "username": "bob", "message": HOSTILE}
PAGE = {"items": [FOUND], "next": None, "hasMore": False}
PROFILES = """
[dev]
http_url = "https://dev.example"
ws_url = "wss://dev.example"
issuer = "https://issuer.example"
client_id = "c1"
scopes = ["chat:read"]

[bare]
http_url = "https://bare.example"
"""
DEV = Profile("dev", client_id="c1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration folder of a user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "headrace").mkdir()
    (tmp_path / "headrace" / "profiles.toml").write_text(PROFILES)
    return tmp_path / "headrace"


def headrace(*arguments: str, lines: str = "", **variables: str) -> Result:
    given = {"HEADRACE": "http://127.0.0.1:1", "TOKEN": "h.p.s", "HEADRACE_PROFILE": "", **variables}
    return CliRunner().invoke(cli, arguments, lines, env=given)


def answering(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> list[tuple[str, str, Any]]:
    """Answer the requests of commands in turn, and all others with the last answer; the requests and their bodies."""
    left, sent = list(answers), list[tuple[str, str, Any]]()

    def request(_: Headrace, method: str, path: str, query: Any = None, body: Any = None) -> Any:
        sent.append((method, path, body))
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Headrace, "request", request)
    return sent


def token_with(**claims: Any) -> str:
    return f"h.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.s"


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("command", [("history", "lobby"), ("window",), ("ads", "clicks", "a1"), ("ski", "resorts")])
def test_a_text_cannot_control_the_terminal(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], command: tuple[str, ...]
) -> None:
    answering(monkeypatch, PAGE)

    result = headrace(*options, *command)

    assert result.exit_code == 0, result.output
    assert not set(result.output) & set("\x1b\x9b\u202e")
    assert "x[/nope]" in result.output or "clicks" in command


def test_programs_get_the_whole_object_wherever_the_option_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, PAGE)

    assert json.loads(headrace("--json", "history", "lobby").output) == FOUND
    assert json.loads(headrace("history", "lobby", "--json").output) == FOUND
    assert json.loads(headrace("ski", "resorts", "--json").output)["items"] == [FOUND]


def commands_of(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    found = []
    for name, command in group.commands.items():
        inner = commands_of(command, (*before, name)) if isinstance(command, click.Group) else []
        found += inner or [((*before, name), command)]
    return found


def test_every_command_prints_json_and_says_what_it_does() -> None:
    for name, command in commands_of(cli):
        options = {option for each in command.params for option in each.opts}
        assert "--json" in options or name == ("completion",), name
        assert command.help, name


def test_events_that_are_taken_back_come_as_arguments_or_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    error = {"error": {"code": "invalid_event"}}
    sent = answering(monkeypatch, {"results": [{}] * 500}, {"results": [{}]}, {"results": [{}, error]})
    rides = "\n".join(json.dumps({"rideID": number}) for number in range(501))

    assert headrace("ski", "take-back", "-", lines=f"{rides}\n\n").exit_code == 0
    assert [(path, len(body["events"])) for _, path, body in sent] == [
        ("/lift-rides/take-back", 500),
        ("/lift-rides/take-back", 1),
    ]
    refused = headrace("ads", "take-back", '{"clickId": "c-1"}', "{}")
    assert (refused.exit_code, *sent[-1][1:]) == (1, "/clicks/take-back", {"events": [{"clickId": "c-1"}, {}]})
    assert "invalid_event" in refused.output
    wrong = headrace("ads", "take-back", "c-1")
    assert (wrong.exit_code, len(sent)) == (2, 3)
    assert "an event is a JSON object, such as" in wrong.output


def newest_of(monkeypatch: pytest.MonkeyPatch, count: int, text: str = "hello") -> None:
    """A room with so many messages of two seconds, the newest first."""
    times = [
        datetime(2026, 1, 1, 0, 0, 0, tzinfo=UTC) - timedelta(seconds=2 * n / max(1, count - 1)) for n in range(count)
    ]
    items = [
        {"timestamp": each.isoformat(), "roomId": "stadium", "userId": f"u{n % 4}", "message": text}
        for n, each in enumerate(times)
    ]
    answering(monkeypatch, {"items": items, "next": None, "hasMore": False})


@pytest.mark.parametrize(
    ("room", "count", "move_to"),
    [
        ("stadium", 100, None),
        ("stadium", 120, "stadium~2"),
        ("stadium", 200, "stadium~4"),  # as many as are stored: more may wait
        ("stadium~2", 240, "stadium~4"),
        ("stadium~16", 3200, None),
        ("stadium~3", 120, "stadium~3~2"),
        ("stadium", 0, None),
    ],
)
def test_the_rate_of_a_busy_room_names_an_id_with_enough_shards(
    room: str, count: int, move_to: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest_of(monkeypatch, count)

    answer = json.loads(headrace("rate", room, "--limit", "100", "--json").output)

    assert answer["messages"] == count
    assert answer.get("moveTo") == move_to


def test_the_rate_of_a_room_says_which_user_is_full_too_and_counts_each_kilobyte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    newest_of(monkeypatch, 20, "x" * 1000)

    room, user = json.loads(headrace("rate", "stadium~2", "--limit", "10", "--json").output)["parts"]

    assert (room["key"], room["unitsPerSecond"], room["limit"], room["use"]) == ("roomId", 20.0, 20, "100%")
    assert (user["key"], user["value"], user["unitsPerSecond"], user["use"]) == ("userId", "u0", 5.0, "50%")
    fullest, *_ = json.loads(headrace("rate", "stadium~16", "--limit", "10", "--json").output)["parts"]
    assert fullest["key"] == "userId"


def test_lists_of_objects_are_tables_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"window": {"from": "a"}, "days": [1, 2], "topAds": [{"adId": "a1", "n": {"clicks": 3}}]})

    printed = headrace("ads", "top").output

    assert [line.split() for line in printed.splitlines()] == [
        ["name", "value"],
        ["window.from", "a"],
        ["days", "1,", "2"],
        [],
        ["topAds"],
        ["adId", "n.clicks"],
        ["a1", "3"],
    ]


def test_a_missing_variable_is_named_with_what_sets_it() -> None:
    result = headrace("history", "lobby", HEADRACE="")

    assert result.exit_code == 2
    assert 'HEADRACE is not set; name a profile, or for the local stage: eval "$(make -s env)"' in result.output


UNAUTHORIZED, FORBIDDEN = Refused("unauthorized", "Unauthorized"), Refused("forbidden", "Forbidden")
LOCAL, AWAY = "http://127.0.0.1:1", "https://a.example"
EXPIRED, VALID = 720.0, -720.0


@pytest.mark.parametrize(
    ("error", "ago", "sentence"),
    [
        (Unreachable("no answer", LOCAL), VALID, f"no stage runs at {LOCAL}; start one with: make up"),
        (Unreachable(f"no answer from {AWAY}: why", AWAY), VALID, f"no answer from {AWAY}: why"),
        (UNAUTHORIZED, EXPIRED, "the token expired 12 minutes ago; get another one"),
        (UNAUTHORIZED, VALID, "the token is not accepted: it is not one of this stage's issuer, or not for this stage"),
        (FORBIDDEN, VALID, "the token lacks the scope that this needs; it has: chat:read"),
        (Refused("forbidden", "you are no member"), VALID, "forbidden: you are no member"),
    ],
    ids=["local", "away", "expired", "refused", "scope", "right"],
)
def test_an_error_is_one_sentence_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, error: Exception, ago: float, sentence: str
) -> None:
    answering(monkeypatch, error)

    result = headrace("history", "lobby", TOKEN=token_with(exp=time.time() - ago, scope="chat:read"))

    assert (result.exit_code, result.output) == (1, f"headrace: {sentence}\n")


def test_the_time_to_try_again_reaches_the_client_and_a_wrong_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    monkeypatch.setattr(Headrace, "__init__", lambda *_, settings, **__: times.append(settings.retry_timeout))
    monkeypatch.setattr(Headrace, "__enter__", lambda _: (_ for _ in ()).throw(Refused("stop", "here")))

    headrace("status")
    headrace("--retry-timeout", "3600", "status")

    assert times == [120, 3600]
    for wrong, said in (("0", "retry_timeout: 0.0 is not a number of seconds above 0"), ("x", "'x' is not a valid")):
        assert said in headrace("--retry-timeout", wrong, "status").output
    assert len(times) == 2


def test_parked_messages_are_returned_when_the_broker_is_back_or_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    away = Unavailable("503 away", 7.0)
    answering(monkeypatch, {"parked": 3}, *[away] * 9, {"returned": 3})
    monkeypatch.setattr(time, "sleep", slept.append)

    assert json.loads(headrace("parked", "--return", "main", "--json").stdout) == {"parked": 3, "returned": 3}
    assert len(slept) == 9
    assert min(slept) >= 7
    answering(monkeypatch, {"parked": 3}, away)
    assert "503 away" in headrace("--retry-timeout", "5", "parked", "--return", "main").output


def test_why_a_command_waits_is_a_line_that_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Said().emit(logging.makeLogRecord({"msg": "again in 7 s: \x1b[31mbehind"}))

    assert capsys.readouterr().err == "headrace: again in 7 s: \N{REPLACEMENT CHARACTER}[31mbehind\n"


def test_a_profile_replaces_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token of one stage is never sent to another."""
    urls: list[str] = []
    monkeypatch.setattr(Headrace, "__init__", lambda _self, url, token, **_: urls.append(f"{url} {token}"))
    monkeypatch.setattr(Headrace, "__enter__", lambda _: (_ for _ in ()).throw(Refused("stop", "here")))

    headrace("history", "lobby", "--json")
    headrace("--profile", "dev", "--token", "given", "history", "lobby")
    without = headrace("history", "lobby", HEADRACE_PROFILE="dev")

    assert urls == ["http://127.0.0.1:1 h.p.s", "https://dev.example given"]
    assert without.output == "headrace: you are not signed in; run: headrace --profile dev login\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[dev", "cannot be read: "),
        ("[other]", "there is no profile dev in "),
        ('[dev]\nurl = "x"', "the profile dev has url; allowed are http_url, ws_url, issuer, "),
        ('[dev]\nscopes = "chat:read"', "scopes is a list of texts, and everything else a text"),
        ("[dev]\nhttp_url = 7", "scopes is a list of texts, and everything else a text"),
        ('dev = "x"', "dev is not a profile; it is a table like [dev]"),
    ],
)
def test_a_wrong_profile_says_what_is_wrong(folder: Path, text: str, said: str) -> None:
    (folder / "profiles.toml").write_text(text)

    result = headrace("--profile", "dev", "history", "lobby")

    assert result.exit_code == 1
    assert said in result.output
    assert result.output.count("\n") == 1


def test_the_profile_named_default_is_used_where_no_address_is_given(folder: Path) -> None:
    (folder / "profiles.toml").write_text('[default]\nhttp_url = "https://d.example"')

    assert "headrace --profile default login" in headrace("history", "lobby", HEADRACE="").output


@pytest.mark.parametrize(
    ("profile", "said"), [("bare", "has no issuer and no client_id and no scopes"), ("", "name a")]
)
def test_a_login_needs_a_profile_with_an_issuer(profile: str, said: str) -> None:
    result = headrace("login", HEADRACE_PROFILE=profile)

    assert result.exit_code == 2
    assert said in result.output


def test_a_sign_in_is_kept_where_only_its_user_can_read_it(folder: Path) -> None:
    os.umask(0o022)
    DEV.keep(Grant("a", time.time() + 60, "r"), "https://issuer.example/token")
    DEV.keep(Grant("b", time.time() + 60, "r"))
    kept = folder / "tokens" / "dev.json"

    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads(kept.read_text())["token_url"] == "https://issuer.example/token"
    assert [each.name for each in kept.parent.iterdir()] == ["dev.json"]
    assert headrace("--profile", "dev", "logout").exit_code == 0
    assert not kept.exists()
    assert "you are not signed in" in headrace("--profile", "dev", "logout").output


def test_a_sign_in_of_another_client_is_not_used() -> None:
    Profile("dev", client_id="other").keep(Grant("a", time.time() + 60), "https://issuer.example/token")

    assert "you are not signed in" in headrace("--profile", "dev", "history", "lobby").output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_what_completes_the_commands(shell: str) -> None:
    printed = headrace("completion", shell).output

    assert "_HEADRACE_COMPLETE" in printed
    if shell == "bash":
        code = "from headrace_client.cli import main; main()"
        variables = {
            "PYTHONPATH": str(ROOT / "clients" / "python"),
            "_HEADRACE_COMPLETE": "bash_complete",
            "COMP_WORDS": "headrace dead",
        }
        variables["COMP_CWORD"] = "1"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
        assert done.stdout == "plain,dead-letters\n"


ERASURE = {"userId": "dora", "state": "running", "erasedAt": "2026-11-27T17:55:10.910089Z"}
REST = {"backupsUntil": "2027-01-01T17:55:10.910089Z", "counts": {"messages": 4, "rooms": 1}}
ERASURE |= REST


@pytest.mark.parametrize(
    ("arguments", "typed", "body"),
    [
        (("dora", "--confirm", "dora"), "", {}),
        (("dora", "--skier", "42"), "dora\n", {"skierID": 42}),
        (("dora",), "dana\n", None),
        (("dora", "--confirm", "dana"), "", None),
    ],
)
def test_a_user_is_erased_only_after_the_same_user_is_typed(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], typed: str, body: dict[str, int] | None
) -> None:
    sent = answering(monkeypatch, ERASURE)

    result = headrace("erase", *arguments, lines=typed)

    assert sent == ([] if body is None else [("POST", "/users/dora/erasure", body)])
    assert (result.exit_code == 0) == (body is not None)
    assert ("nothing is erased" in result.output) == (body is None)


def test_a_room_is_deleted_after_it_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = answering(monkeypatch, {"roomId": "den", "state": "running", "erasedAt": "now", "freeFrom": "later", **REST})

    for more in ((), ("--operator",)):
        shown = headrace("delete-room", "den", "--confirm", "den", *more)
        assert shown.output.startswith("den: running, erased what came until now\n")
        assert shown.output.endswith("\nthe id is free from later\n")
    refused = headrace("delete-room", "den", lines="dem\n")
    assert (refused.exit_code, "Type the room to delete" in refused.output) == (2, True)
    assert [each[:2] for each in sent] == [("DELETE", "/rooms/den"), ("POST", "/rooms/den/deletion")]


def test_an_erasure_is_shown_with_its_counts_and_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = answering(monkeypatch, ERASURE, ERASURE, {**ERASURE, "state": "done"})
    monkeypatch.setattr("headrace_client.cli.erasure.PAUSE", 0)

    running = headrace("erasure", "dora")
    done = headrace("erasure", "dora", "--wait")

    assert (running.exit_code, done.exit_code, len(sent)) == (1, 0, 3)
    assert running.output.splitlines() == [
        "dora: running, erased what came until 2026-11-27T17:55:10.910089Z",
        "  messages: 4",
        "  rooms: 1",
        "copies in backups end at 2027-01-01T17:55:10.910089Z",
    ]


EXPORT: dict[str, Any] = {"userId": "dora", "state": "running", "asOf": "2026-11-27T17:54:10.910089Z"}
EXPORT |= {"filesUntil": "2026-12-04T17:55:10.910089Z", "counts": {"messages": 2}, "files": []}


def exports_that_end_with(monkeypatch: pytest.MonkeyPatch, *files: Path) -> list[tuple[str, str, Any]]:
    """Answer the first look with a running export, and the next with a done one of these files."""
    done = {**EXPORT, "state": "done", "doneAt": "2026-11-27T17:55:20.910089Z"}
    done["files"] = [{"link": path.as_uri(), "lines": 1, "bytes": path.stat().st_size} for path in files]
    monkeypatch.setattr("headrace_client.cli.export.PAUSE", 0)
    return answering(monkeypatch, EXPORT, EXPORT, done)


@pytest.mark.parametrize(
    ("arguments", "path", "body"),
    [
        ((), "/export", None),
        (("--user", "dora"), "/users/dora/export", {}),
        (("--user", "dora", "--skier", "42"), "/users/dora/export", {"skierID": 42}),
        (("--room", "kitchen"), "/rooms/kitchen/export", None),
    ],
)
def test_an_export_is_begun_once_waited_for_and_shown_with_its_links(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...], path: str, body: Any
) -> None:
    file = tmp_path / "1.gz"
    file.write_bytes(b"")
    sent = exports_that_end_with(monkeypatch, file)

    result = headrace("export", *arguments, "--wait")

    assert sent == [("POST", path, body), ("GET", path, None), ("GET", path, None)]
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "dora: done, as of 2026-11-27T17:54:10.910089Z",
        "  messages: 2",
        file.as_uri(),
        "the links are good for 15 minutes, the files until 2026-12-04T17:55:10.910089Z",
    ]


@pytest.mark.parametrize("name", ["dora.jsonl", "dora.jsonl.gz"])
def test_the_files_of_an_export_are_saved_as_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    files = [tmp_path / "1.gz", tmp_path / "2.gz"]
    for number, file in enumerate(files):
        file.write_bytes(gzip.compress(b'{"line": %d}\n' % number))
    exports_that_end_with(monkeypatch, *files)

    result = headrace("export", "--output", str(tmp_path / name))

    saved = (tmp_path / name).read_bytes()
    lines = gzip.decompress(saved) if name.endswith(".gz") else saved
    assert lines == b'{"line": 0}\n{"line": 1}\n'
    assert result.output.splitlines()[-1] == f"saved as {tmp_path / name}"
    assert not list(tmp_path.glob("*.part"))


def test_a_file_that_came_incomplete_is_not_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "1.gz"
    file.write_bytes(gzip.compress(b"lines"))
    exports_that_end_with(monkeypatch, file)
    file.write_bytes(b"half")

    result = headrace("export", "--output", str(tmp_path / "dora.jsonl"))

    assert result.exit_code == 1
    assert "incomplete" in result.output
    assert not list(tmp_path.glob("dora*"))


GZIP = gzip.compress(b"lines", mtime=0)


@pytest.mark.parametrize("whole", [b"lines", GZIP[:-9], GZIP[:10] + b"\xff" * 20], ids=["no gzip", "cut off", "broken"])
def test_a_file_that_is_broken_is_not_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole: bytes) -> None:
    file, output = tmp_path / "1.gz", tmp_path / "dora.jsonl"
    file.write_bytes(whole)
    output.write_text("an earlier export")
    exports_that_end_with(monkeypatch, file)

    result = headrace("export", "--output", str(output))

    assert "could not be saved" in result.output
    assert [(each.name, each.read_text()) for each in tmp_path.glob("dora*")] == [(output.name, "an earlier export")]


def test_a_look_at_the_last_export_begins_none(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = exports_that_end_with(monkeypatch)

    result = headrace("export", "--last")

    assert sent == [("GET", "/export", None)]
    assert result.exit_code == 1
    assert headrace("export", "--room", "kitchen", "--user", "dora").exit_code == 2
