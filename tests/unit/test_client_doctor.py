"""The doctor's checks fail for a stage that answers otherwise than it should, and say what came."""

from __future__ import annotations

import asyncio
import base64
import json
from types import SimpleNamespace
from typing import Any

import pytest

from headrace_client.cli import doctor, doctor_chat, doctor_stage
from headrace_client.cli.doctor_stage import Answer, Stage, run

CHECKS = {**doctor.CHECKS, **doctor_chat.CHECKS}


TOKEN = f".{base64.urlsafe_b64encode(json.dumps({'sub': 'alice'}).encode()).decode().rstrip('=')}."
SUBSCRIBED = {"type": "subscribed"}
ACK = {"type": "ack", "lane": "main", "correlationId": "r-1"}
LIVE = {"type": "messages", "items": [{"message": "a check from outside: doctor-1"}]}
JOINED = {"type": "messages", "items": [{"message": ""}]}


class Connection:
    """A connection on which these frames come, and then none."""

    def __init__(self, frames: list[dict[str, Any]]) -> None:
        self._frames = iter(frames)

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def send_str(self, _: str) -> None:
        pass

    async def receive_str(self, **_: float) -> str:
        if frame := next(self._frames, None):
            return json.dumps(frame)
        raise TimeoutError


class Answers:
    """A stage whose HTTP API gives one answer, and whose WebSocket API another."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        status: int = 200,
        body: object = None,
        headers: dict[str, str] | None = None,
        token: str = "token",
        friend: str = "",
        frames: list[dict[str, Any]] | None = None,
    ) -> None:
        answer = Answer(status, headers or {}, json.dumps(body or {}).encode())
        monkeypatch.setattr(Stage, "request", lambda *_, **__: answer)

        monkeypatch.setattr("headrace_client.cli.doctor_chat.READ_SECONDS", 0.05)
        monkeypatch.setattr("time.sleep", lambda _: None)
        session = SimpleNamespace(ws_connect=lambda *_, **__: Connection(frames or []))
        monkeypatch.setattr(doctor_stage, "in_session", lambda work: asyncio.run(work(session)))
        self.stage = Stage("https://stage.example", "wss://stage.example", token, "", friend, "doctor-1")

    def finding(self, check: str) -> tuple[str, str]:
        found = run(check, lambda: CHECKS[check](self.stage))
        return found.verdict, found.detail


GOOD_HEADERS = {"x-request-id": "r-1", "cache-control": "no-store", "x-content-type-options": "nosniff"}
WELL = {
    "accepting": "main",
    "lanes": {"main": {"state": "ok"}, "dead": {"state": "empty"}},
    "breakers": {"state": "ok"},
    "probes": {"state": "ok"},
}


@pytest.mark.parametrize(
    ("check", "answer", "part"),
    [
        ("health", {"status": 503, "body": {"status": "down"}}, '503 {"status": "down"}'),
        ("health", {"body": {"status": "degraded"}}, "degraded"),
        ("no token", {"status": 200}, "it should be 401"),
        ("wrong token", {"status": 500, "body": {"message": "Internal Server Error"}}, "500"),
        ("scopes", {"status": 500}, "it should be 401 or 403"),
        ("headers", {"headers": {**GOOD_HEADERS, "cache-control": "public"}}, "cache-control: public"),
        ("headers", {"status": 403, "headers": GOOD_HEADERS}, "JwtIssuer, JwtAudience and ScopePrefix"),
        ("CORS", {"status": 500}, "500"),
        ("ping frame", {"frames": [{"type": "error", "error": {"code": "internal"}}]}, "internal"),
        ("ping frame", {"frames": [{"type": "pong"}]}, "it should have a correlationId"),
        ("ping frame", {}, "no frame pong came"),
        ("room", {"status": 409, "body": {"error": {"code": "conflict", "message": "taken"}}}, "409 conflict: taken"),
        ("invitation", {"status": 503, "body": {"error": {"code": "unavailable", "message": "no"}}}, "503 unavailable"),
        ("invitation", {"body": {"joinedAt": None}, "friend": TOKEN}, "accepted, but not in the room"),
        ("message", {"frames": [SUBSCRIBED, {"type": "error", "error": {"code": "forbidden"}}]}, "forbidden"),
        ("message", {"frames": [SUBSCRIBED, ACK, JOINED]}, "no frame a check from outside: doctor-1 came"),
        ("message", {"frames": [SUBSCRIBED, ACK, LIVE]}, "(trace r-1), but not readable"),
        ("leave", {"status": 500, "token": TOKEN}, "DELETE /rooms/"),
        ("status", {"status": 404, "body": {"message": "Not Found"}}, "404"),
        ("status", {"body": {**WELL, "accepting": "retry"}}, "accepting retry"),
        ("status", {"body": {**WELL, "lanes": {"main": {"state": "away"}}}}, "lane main is"),
        ("status", {"body": {**WELL, "lanes": {**WELL["lanes"], "dead": {"state": "holding"}}}}, "dead lane"),
        ("status", {"body": {**WELL, "breakers": {"state": "open"}}}, "a breaker is open"),
        ("status", {"body": {**WELL, "probes": {"state": "missing"}}}, "probes are missing"),
    ],
)
def test_a_stage_that_is_not_well_fails(
    monkeypatch: pytest.MonkeyPatch, check: str, answer: dict[str, Any], part: str
) -> None:
    verdict, detail = Answers(monkeypatch, **answer).finding(check)

    assert verdict == "fail"
    assert part in detail


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        ("scopes", {"status": 200}),
        ("headers", {"token": ""}),
        ("status", {"status": 403}),
        ("status", {"token": ""}),
        ("ping frame", {"token": ""}),
        ("room", {"token": ""}),
        ("message", {"token": ""}),
    ],
)
def test_a_check_without_its_right_or_setting_is_unknown(
    monkeypatch: pytest.MonkeyPatch, check: str, answer: dict[str, Any]
) -> None:
    assert Answers(monkeypatch, **answer).finding(check)[0] == "unknown"


def test_a_stage_that_does_not_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(doctor_stage, "in_session", away)
    found = run("health", lambda: CHECKS["health"](Stage("http://stage.example", "")))

    assert (found.verdict, found.detail) == ("fail", "http://stage.example does not answer: ConnectionRefusedError")


def test_plain_http_to_another_machine_fails() -> None:
    found = run("TLS", lambda: CHECKS["TLS"](Stage("http://stage.example", "")))

    assert (found.verdict, found.detail) == ("fail", "http://stage.example is not https")
