"""Requests and frames that are made from the API documents, sent to a whole stage."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode

from loadtest.client.websocket import WebSocket
from tests.api.conftest import CASES, Report
from tests.e2e.conftest import RunningStage
from tests.worlds.reference import HTTP, WEBSOCKET
from tools.api_reference import asyncapi
from tools.api_reference.access import SCOPES
from tools.api_reference.recording import USERS

SCHEMAS = WEBSOCKET["components"]["schemas"]
PAYLOADS = {
    name: SCHEMAS[each["payload"]["$ref"].rpartition("/")[2]]
    for name, each in WEBSOCKET["components"]["messages"].items()
}
ACTIONS = [name for name, each in WEBSOCKET["operations"].items() if "reply" in each]
SENDERS = ("alice", "producer")
SHORT = 8
"""Frames for an action in the short form."""
CALLERS = {"producer": list(SCOPES), "alice": [scope for scope in SCOPES if scope != "events:write"]}
"""A trusted producer, and a user, with all other scopes."""
OPERATIONS = sum(len(methods) for methods in HTTP["paths"].values())
SHORT_HTTP = 3
"""Requests for an operation in the short form."""
SAME = ("--phases", "examples,fuzzing", "--generation-deterministic", "--seed", "1")
"""Of the short form: the same requests every time."""
LONGEST = 5400
FRAME_BYTES = 32 * 1024
FAULTS = {"internal", "unavailable"}
"""Codes of a 5xx."""
MOST_EVENTS = 3
"""Of a generated batch: the generator is slow with many."""

pytestmark = pytest.mark.timeout(LONGEST)


def _validator(names: list[str]) -> Draft202012Validator:
    payloads = [PAYLOADS[name] for name in names]
    return Draft202012Validator({"anyOf": payloads, "components": WEBSOCKET["components"]})


def _names(messages: list[dict[str, str]]) -> list[str]:
    return [each["$ref"].rpartition("/")[2] for each in messages]


def _replies(action: str) -> list[str]:
    return _names(WEBSOCKET["operations"][action]["reply"]["messages"])


ANSWERS = {action: _validator(_replies(action)) for action in ACTIONS}
ANY_ANSWER = _validator([reply for action in ACTIONS for reply in _replies(action)])
PUSHED = {name: _validator([name]) for name in asyncapi.PUSHED}
"""The frames that are no answers, by their type."""


class Speaker:
    """The connections of all senders; each frame waits for its answer."""

    def __init__(self, stage: RunningStage) -> None:
        self._sockets = {
            user: WebSocket(
                stage.where["websocket_url"], lambda user=user: stage.token(user, *USERS[user]), timeout=60.0
            )
            for user in SENDERS
        }
        self.sent = 0

    def check(self, sender: str, text: str) -> None:
        """Send a text, and compare its answer with the document."""
        socket = self._sockets[sender]
        if not socket.connected:
            socket.open()
        socket.send(text)
        self.sent += 1
        while (pushed := PUSHED.get((answer := socket.receive()).get("type", ""))) is not None:
            assert not [each.message for each in pushed.iter_errors(answer)], answer
        frame = _parsed(text)
        action, request_id = frame.get("action"), frame.get("requestId")
        validator = ANSWERS.get(action, ANY_ANSWER) if isinstance(action, str) else ANY_ANSWER
        assert not [each.message for each in validator.iter_errors(answer)], answer
        assert answer.get("error", {}).get("code") not in FAULTS, answer
        if isinstance(request_id, str) and 0 < len(request_id) <= 128:
            assert answer.get("requestId") == request_id.encode("utf-8", "replace").decode(), answer

    def close(self) -> None:
        """Close the connections."""
        for socket in self._sockets.values():
            socket.close()


@pytest.fixture
def speaker(stage: RunningStage) -> Iterator[Speaker]:
    found = Speaker(stage)
    yield found
    found.close()


def test_every_answer_to_a_request_has_a_documented_status_and_form(
    stage: RunningStage, report: Report, tmp_path: Path
) -> None:
    """Also: no answer has a status of 500 or more, and what the schemas do not allow is refused."""
    with ThreadPoolExecutor() as pool:
        runs = {user: pool.submit(requested, stage, user, tmp_path / user) for user in CALLERS}

    for user, run in runs.items():
        found = run.result()
        cases = found["test_cases"]
        report(f"HTTP as {user}: {cases['generated']} requests, {cases['unique_failures']} wrong, seed {found['seed']}")
        assert found["complete"]
        assert found["operations"]["tested"] == OPERATIONS
        assert cases["generated"] >= max(CASES // len(CALLERS), OPERATIONS)


def test_every_answer_to_a_valid_frame_is_documented(speaker: Speaker, report: Report) -> None:
    for action in ACTIONS:
        play(speaker, frames(action, GenerationMode.POSITIVE), len(ACTIONS))

    finish(speaker, report, "valid")


def test_every_answer_to_an_invalid_frame_is_documented(speaker: Speaker, report: Report) -> None:
    for action in ACTIONS:
        play(speaker, frames(action, GenerationMode.NEGATIVE), len(ACTIONS))

    finish(speaker, report, "invalid")


def test_every_answer_to_any_text_is_documented(speaker: Speaker, report: Report) -> None:
    keys = st.sampled_from(["action", "requestId", "roomId", "events"]) | st.text(max_size=4)
    anything: st.SearchStrategy[Any] = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    )
    texts = st.text(string.printable, max_size=40) | st.text(max_size=40).filter(lambda each: each.isprintable())

    play(speaker, anything.map(json.dumps) | texts, 1)

    finish(speaker, report, "arbitrary")


def requested(stage: RunningStage, user: str, folder: Path) -> dict[str, Any]:
    """The report of a run of schemathesis as ``user``; fails with its output if it found anything."""
    document, result = folder / "openapi.json", folder / "report.json"
    folder.mkdir()
    document.write_text(json.dumps(HTTP))
    token = stage.token(user, *CALLERS[user])
    each = CASES // len(CALLERS) // OPERATIONS + 1 if CASES else SHORT_HTTP
    length = ("--generation-database", "none") if CASES else SAME
    command = [
        *(Path(sys.executable).with_name("st"), "--config-file", Path(__file__).with_name("schemathesis.toml")),
        *("run", document, "--url", stage.where["http_url"], "--header", f"Authorization: Bearer {token}"),
        *("--max-examples", each, "--continue-on-failure", "--no-color", "--warnings", "off"),
        *("--report", "json", "--report-json-path", result, *length),
    ]
    run = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=LONGEST)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
    found: dict[str, Any] = json.loads(result.read_text())
    return found


def frames(action: str, mode: GenerationMode) -> st.SearchStrategy[str]:
    """Texts that the schema of an action allows, or does not allow; some are about a room that exists."""
    payload = {"content": {"application/json": {"schema": _shortened(PAYLOADS[action])}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "frames", "version": "1"},
        "paths": {"/frame": {"post": {"requestBody": {"required": True, **payload}, "responses": {"200": {}}}}},
        "components": {"schemas": _shortened(SCHEMAS)},
    }
    operation = schemathesis.openapi.from_dict(document)["/frame"]["POST"]
    bodies = operation.as_strategy(generation_mode=mode).map(lambda case: case.body)
    return st.builds(_text, bodies, st.sampled_from([None, "kitchen"])).filter(
        lambda text: len(text.encode()) <= FRAME_BYTES
    )


def play(speaker: Speaker, texts: st.SearchStrategy[str], share: int) -> None:
    """Send as many of ``texts`` as one of ``share`` strategies has to."""
    count = CASES // 3 // share + 1 if CASES else SHORT

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=not CASES,
        suppress_health_check=list(HealthCheck),
    )
    @given(sender=st.sampled_from(SENDERS), text=texts)
    def run(sender: str, text: str) -> None:
        speaker.check(sender, text)

    run()


def finish(speaker: Speaker, report: Report, kind: str) -> None:
    report(f"WebSocket: {speaker.sent} {kind} frames, 0 wrong")
    assert speaker.sent >= CASES // 3


def _text(body: Any, room: str | None) -> str:
    if isinstance(body, bytes):
        return body.decode("latin-1")
    if room is not None and isinstance(body, dict) and "roomId" in body:
        body = {**body, "roomId": room}
    return json.dumps(body)


def _shortened(schema: Any) -> Any:
    """A schema without long arrays."""
    if isinstance(schema, list):
        return [_shortened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    most = {"maxItems": min(schema["maxItems"], MOST_EVENTS)} if isinstance(schema.get("maxItems"), int) else {}
    return {name: _shortened(each) for name, each in schema.items()} | most


def _parsed(text: str) -> dict[str, Any]:
    try:
        frame = json.loads(text)
    except ValueError:
        return {}
    return frame if isinstance(frame, dict) else {}
