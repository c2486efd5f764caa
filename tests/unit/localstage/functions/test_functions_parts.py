"""The helpers of the function pool that need no process and no socket."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from localstage.core.model import Function, Layer
from localstage.functions import failure_log, payloads, watch
from localstage.functions.event import Event
from localstage.functions.settings import PoolSettings, bytecode_file, layer_path, variables


def function(id: str, code: Path, *layers: Layer, **environment: str) -> Function:
    return Function(id, id.lower(), code, "app.handler", 3.0, 128, environment, layers)


def settings(tmp_path: Path, **base: str) -> PoolSettings:
    return PoolSettings(tmp_path, {}, tmp_path, 4, base)


def test_a_request_id_is_a_random_uuid() -> None:
    ids = {Event.new_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert {(uuid.UUID(each).version, uuid.UUID(each).variant) for each in ids} == {(4, uuid.RFC_4122)}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (1, "Runtime exited with error: exit status 1"),
        (-9, "Runtime exited with error: signal: killed"),
        (0, "Runtime exited without providing a reason"),
    ],
)
def test_the_end_of_a_process_is_worded_as_lambda_does(status: int, reason: str) -> None:
    said = json.loads(payloads.exited("id-1", status))

    assert said == {"errorType": "Runtime.ExitError", "errorMessage": f"RequestId: id-1 Error: {reason}"}


@pytest.mark.parametrize("payload", [b"", b"not json", b"[]", b"{}", b'{"errorType": 3}', b'{"errorType": "a\\nb"}'])
def test_an_error_without_a_usable_type_still_has_a_name(payload: bytes) -> None:
    assert payloads.error_type(payload) == "an error"


def test_a_function_cannot_change_the_variables_that_lambda_reserves(tmp_path: Path) -> None:
    made = variables(
        function("Fn", tmp_path, AWS_LAMBDA_FUNCTION_NAME="other", TZ="Europe/Prague", AWS_SECRET_ACCESS_KEY="own"),
        settings(tmp_path, AWS_SECRET_ACCESS_KEY="stage"),
        "127.0.0.1:1",
    )

    assert made["AWS_LAMBDA_FUNCTION_NAME"] == "fn"
    assert made["TZ"] == "Europe/Prague"
    assert made["AWS_SECRET_ACCESS_KEY"] == "own"
    assert made["AWS_REGION"] == "us-east-1"


def test_a_later_layer_comes_before_an_earlier_one(tmp_path: Path) -> None:
    layers = [Layer("First", tmp_path / "first", None), Layer("Second", tmp_path / "second", None)]

    path = layer_path(function("Fn", tmp_path, *layers), {"Second": tmp_path / "built"})

    assert path == [tmp_path / "built", tmp_path / "first"]


def test_a_layer_with_requirements_and_code_gives_both(tmp_path: Path) -> None:
    (tmp_path / "built" / "python").mkdir(parents=True)
    (tmp_path / "content").mkdir()
    layer = Layer("Both", tmp_path / "content", tmp_path / "content" / "requirements.txt")
    user = function("Fn", tmp_path, layer)

    assert layer_path(user, {"Both": tmp_path / "built"}) == [tmp_path / "built" / "python"]
    (tmp_path / "content" / "helper.py").touch()
    assert layer_path(user, {"Both": tmp_path / "built"}) == [tmp_path / "built" / "python", tmp_path / "content"]


def test_a_change_touches_the_functions_whose_code_or_layer_it_is_in(tmp_path: Path) -> None:
    layer = Layer("Shared", tmp_path / "layers" / "shared", None)
    functions = {
        "A": function("A", tmp_path / "functions" / "a", layer),
        "AB": function("AB", tmp_path / "functions" / "ab", layer),
        "C": function("C", tmp_path / "functions" / "c"),
    }
    users = watch.sources(functions, {})

    assert watch.touched({tmp_path / "functions" / "a" / "app.py"}, users) == {"A"}
    assert watch.touched({tmp_path / "layers" / "shared" / "x" / "y.json"}, users) == {"A", "AB"}
    assert watch.touched({tmp_path / "elsewhere.py"}, users) == set()


def test_files_that_the_stage_builds_are_not_watched(tmp_path: Path) -> None:
    (tmp_path / "built" / "python").mkdir(parents=True)
    layer = Layer("Built", tmp_path / "content", tmp_path / "requirements.txt")

    users = watch.sources({"A": function("A", tmp_path / "a", layer)}, {"Built": tmp_path / "built"})

    assert set(users) == {tmp_path / "a"}


def test_a_reload_is_logged_in_one_short_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "functions" / "read_room" / "app.py"

    assert watch.describe({"ReadRoom"}, {file}) == "ReadRoom reloaded (functions/read_room/app.py)"
    many = watch.describe({"A", "B", "C", "D"}, {file, tmp_path / "z.py"})
    assert many == "4 functions reloaded (functions/read_room/app.py and 1 more)"


def test_the_bytecode_of_a_changed_source_is_deleted(tmp_path: Path) -> None:
    kept = bytecode_file(tmp_path / "state", tmp_path / "app.py")
    kept.parent.mkdir(parents=True)
    kept.touch()

    watch.forget_bytecode(
        {tmp_path / "app.py", tmp_path / "never_imported.py", tmp_path / "data.json"}, tmp_path / "state"
    )

    assert not kept.exists()


def test_a_repeated_failure_is_logged_at_once_and_then_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(failure_log.time, "monotonic", lambda: now)
    made = failure_log.FailureLog()

    for _ in range(4):
        made.add("Fn", "ValueError")
    made.add("Fn", "KeyError")
    now += 4.9
    made.flush()
    assert len(caplog.messages) == 2
    now += 0.2
    made.flush()

    assert caplog.messages == [
        "Fn failed: ValueError (make logs FUNCTION=Fn)",
        "Fn failed: KeyError (make logs FUNCTION=Fn)",
        "Fn failed: ValueError, 3 more times (make logs FUNCTION=Fn)",
    ]
