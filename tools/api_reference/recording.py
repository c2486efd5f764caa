"""Records the examples: sends a fixed sequence of requests to a running stage, over HTTP and WebSocket.

    python -m tools.api_reference.recording

writes ``examples.json`` beside this module. Alice owns the room kitchen, bob is a member, carol is not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from headrace.core.caller import ANALYTICS_READ, CHAT_READ, CHAT_WRITE, EVENTS_WRITE, OPS
from loadtest.client.websocket import WebSocket
from localstage.client.running_stage import StageUrls, running_stage
from localstage.client.tokens import fetch_token
from tools.api_reference.examples import FILE, Example

PATIENCE = 60.0
ANYTHING: Callable[[Any], bool] = bool
USERS = {
    "alice": (CHAT_WRITE, CHAT_READ),
    "bob": (CHAT_WRITE, CHAT_READ),
    "carol": (CHAT_WRITE, CHAT_READ),
    "producer": (EVENTS_WRITE,),
    "analyst": (ANALYTICS_READ,),
    "operator": (OPS,),
}


def at(minutes: float = 0) -> str:
    """The time ``minutes`` from now."""
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def second(minutes: float) -> str:
    """The time ``minutes`` from now, without fractions of a second."""
    return f"{at(minutes)[:19]}Z"


class Recorder:
    """Sends requests to a stage, and records each with its answer."""

    def __init__(self, stage: StageUrls) -> None:
        self._stage = stage
        self._pool = urllib3.PoolManager(timeout=30.0, retries=False)
        self._tokens: dict[str, str] = {}
        self.examples: list[Example] = []

    def token(self, user: str) -> str:
        """A token of one of ``USERS``."""
        if user not in self._tokens:
            self._tokens[user] = fetch_token(self._stage.token_url, user, USERS[user])
        return self._tokens[user]

    def ask(
        self,
        user: str,
        key: str,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        *,
        name: str = "ok",
        until: Callable[[Any], bool] = ANYTHING,
    ) -> Any:
        """Send a request as ``user`` until ``until`` accepts the answer; record the last answer."""
        deadline = time.monotonic() + PATIENCE
        method, target = key.split()
        for parameter, value in (path or {}).items():
            target = target.replace(f"{{{parameter}}}", quote(value, safe=""))
        headers = {"Authorization": f"Bearer {self.token(user)}"} if user else {}
        while True:
            url = self._stage.http_url + target + (f"?{urlencode(query)}" if query else "")
            answer = self._pool.request(method, url, headers=headers, json=body)
            content = json.loads(answer.data)
            if answer.status != 503 and until(content):
                break
            if time.monotonic() > deadline:
                raise TimeoutError(f"{key} answers {content}")
            time.sleep(0.2)
        request = {"path": dict(path or {}), "query": dict(query or {}), "body": body}
        self.examples.append(Example(key, name, request, answer.status, content))
        return content

    def connect(self, user: str) -> WebSocket:
        """A WebSocket connection of ``user``."""
        socket = WebSocket(self._stage.websocket_url, lambda: self.token(user), timeout=PATIENCE)
        socket.open()
        return socket

    def frame(self, socket: WebSocket, frame: Mapping[str, Any], *, name: str = "ok") -> dict[str, Any]:
        """Send a frame, and record it with its answer."""
        answer = socket.request(frame)
        shown = {**frame, "token": "…"} if "token" in frame else dict(frame)
        self.examples.append(Example(str(frame["action"]), name, {"body": shown}, 200, answer))
        return answer

    def pushed(self, socket: WebSocket) -> None:
        """Record the next frame that the server pushes."""
        while (frame := socket.receive()).get("type") != "messages":
            pass
        self.examples.append(Example("messages", "ok", {}, 200, frame))


def record(stage: StageUrls) -> list[Example]:
    """The examples of all routes and actions, recorded now."""
    recorder = Recorder(stage)
    for part in (_rooms, _frames, _history, _conversations, _analytics, _rides, _clicks, _operations):
        part(recorder)
    return recorder.examples


def _has(*names: str) -> Callable[[Any], bool]:
    """Whether the values of these fields are neither empty nor 0."""
    return lambda answer: all(answer[name] for name in names)


def _rooms(to: Recorder) -> None:
    kitchen, bob = {"roomId": "kitchen"}, {"roomId": "kitchen", "userId": "bob"}
    to.ask("alice", "PUT /rooms/{roomId}", kitchen, body={"kind": "members"})
    to.ask("alice", "PUT /rooms/{roomId}", kitchen, body={"kind": "open"}, name="conflict")
    to.ask("alice", "GET /rooms/{roomId}", kitchen)
    to.ask("carol", "GET /rooms/{roomId}", {"roomId": "attic"}, name="not_found")
    to.ask("alice", "PATCH /rooms/{roomId}", kitchen, body={"name": "Kitchen", "topic": "who cooks?"})
    to.ask("alice", "PUT /users/{userId}/direct/{otherId}", {"userId": "alice", "otherId": "bob"})
    to.ask("alice", "PUT /rooms/{roomId}/members/{userId}", bob, body={"role": "member"}, name="invited")
    to.ask("bob", "GET /users/{userId}/invitations", {"userId": "bob"})
    to.ask("bob", "PUT /rooms/{roomId}/members/{userId}", bob)
    blocked = {"userId": "bob", "otherId": "mallory"}
    to.ask("bob", "PUT /users/{userId}/blocked/{otherId}", blocked)
    to.ask("bob", "GET /users/{userId}/blocked", {"userId": "bob"})
    to.ask("bob", "DELETE /users/{userId}/blocked/{otherId}", blocked)
    to.ask("alice", "GET /rooms/{roomId}/members", kitchen, {"limit": "50"})
    post = "POST /rooms/{roomId}/messages"
    message = {"message": "hello", "messageId": "m-1", "timestamp": at()}
    to.ask("alice", post, kitchen, body=message)
    to.ask("alice", post, kitchen, body={"messageId": "m-2"}, name="invalid_event")
    to.ask("carol", post, kitchen, body={**message, "messageId": "m-3"}, name="forbidden")
    events = [
        {"roomId": "kitchen", "message": "is anybody here?", "messageId": "m-4", "timestamp": at()},
        {"roomId": "kit#chen", "message": "hello", "messageId": "m-5", "timestamp": at()},
    ]
    to.ask("alice", "POST /messages/batch", body={"events": events})
    to.ask("alice", "POST /messages/batch", body={"events": []}, name="invalid_request")


def _frames(to: Recorder) -> None:
    alice, bob = to.connect("alice"), to.connect("bob")
    found = to.frame(bob, {"action": "subscribe", "requestId": "r1", "roomId": "kitchen"})
    to.frame(
        bob,
        {"action": "check", "requestId": "r11", "rooms": {"kitchen": found["position"], "attic": found["position"]}},
    )
    message = {"roomId": "kitchen", "message": "dinner is ready", "messageId": "m-6", "timestamp": at()}
    to.frame(alice, {"action": "sendMessage", "requestId": "r2", **message})
    to.pushed(bob)
    to.frame(alice, {"action": "sendMessage", "requestId": "r3", "roomId": "kitchen"}, name="invalid_event")
    events = [
        {"roomId": "kitchen", "message": "bring plates", "messageId": "m-7", "timestamp": at()},
        {"roomId": "kitchen", "message": "and forks", "messageId": "m-8", "timestamp": at()},
    ]
    to.frame(alice, {"action": "sendBatch", "requestId": "r4", "events": events})
    to.frame(bob, {"action": "unsubscribe", "requestId": "r5", "roomId": "kitchen"})
    to.frame(bob, {"action": "history", "requestId": "r6", "roomId": "kitchen", "limit": 2})
    to.frame(bob, {"action": "history", "requestId": "r7", "roomId": "kitchen", "limit": 500}, name="invalid_request")
    to.frame(bob, {"action": "ping", "requestId": "r8"})
    to.frame(bob, {"action": "authenticate", "requestId": "r9", "token": to.token("bob")})
    to.frame(bob, {"action": "authenticate", "requestId": "r10", "token": to.token("alice")}, name="forbidden")
    alice.close()
    bob.close()


def _history(to: Recorder) -> None:
    key, kitchen = "GET /rooms/{roomId}/messages", {"roomId": "kitchen"}
    to.ask("bob", key, kitchen, {"limit": "2"}, until=lambda page: page["items"][0].get("messageId") == "m-8")
    to.ask("bob", key, kitchen, {"limit": "500"}, name="invalid_request")
    to.ask("bob", key, kitchen, {"before": "eyJmb3JnZWQiOnRydWV9"}, name="invalid_cursor")
    to.ask("carol", key, kitchen, name="forbidden")
    to.ask("", key, kitchen, name="gateway")
    to.ask("alice", "GET /users/{userId}/messages", {"userId": "alice"}, {"limit": "2"}, until=_has("items"))


def _conversations(to: Recorder) -> None:
    user = {"userId": "bob"}
    found = to.ask("bob", "GET /users/{userId}/rooms", user, {"limit": "20"}, until=_has("items"))
    upto = found["items"][0]["lastMessage"]["key"]
    to.ask("bob", "PUT /rooms/{roomId}/read", {"roomId": "kitchen"}, body={"upTo": upto})
    member = "DELETE /rooms/{roomId}/members/{userId}"
    to.ask("alice", member, {"roomId": "kitchen", "userId": "bob"})
    to.ask("alice", member, {"roomId": "cellar", "userId": "bob"}, name="not_found")


def _analytics(to: Recorder) -> None:
    window = {"from": second(-60), "to": second(5)}
    to.ask("analyst", "GET /analytics/window", query={**window, "top": "3"}, until=_has("totalMessages"))
    to.ask("analyst", "GET /analytics/active-users", query={**window, "roomId": "kitchen"}, until=_has("uniqueUsers"))
    short = {"from": second(-2), "to": second(1)}
    to.ask("analyst", "GET /analytics/series", query={**short, "step": "60"}, until=_has("points"))


def _rides(to: Recorder) -> None:
    day = {"resortID": "7", "seasonID": "2025", "dayID": "34"}
    skier = {**day, "skierID": "1201"}
    resort = {"resortID": "7"}
    season = {"year": 2025, "resortName": "Mission Ridge"}
    to.ask("producer", "POST /resorts/{resortID}/seasons", resort, body=season)
    path = "/skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}"
    to.ask("producer", f"POST {path}", skier, body={"time": 217, "liftID": 21})
    ride = {"resortID": 7, "seasonID": 2025, "dayID": 34, "skierID": 1201}
    events = [{**ride, "time": 228, "liftID": 15}, {**ride, "seasonID": 1999, "time": 240, "liftID": 15}]
    to.ask("producer", "POST /lift-rides/batch", body={"events": events})
    to.ask("analyst", f"GET {path}", skier, until=lambda vertical: vertical == 360)
    to.ask("analyst", "GET /skiers/{skierID}/vertical", {"skierID": "1201"}, {"resort": "7", "season": "2025"})
    of_season = {"seasonID": "2025", "skierID": "1201"}
    to.ask("analyst", "GET /skiers/seasons/{seasonID}/skiers/{skierID}", of_season)
    of_day = {**of_season, "dayID": "34"}
    to.ask("analyst", "GET /skiers/seasons/{seasonID}/days/{dayID}/skiers/{skierID}", of_day)
    resorts = "/resorts/{resortID}/seasons/{seasonID}"
    to.ask("analyst", f"GET {resorts}/day/{{dayID}}/skiers", day, until=_has("numSkiers"))
    to.ask("analyst", f"GET {resorts}/days/{{dayID}}/lifts/{{liftID}}", {**day, "liftID": "21"}, until=_has("rides"))
    to.ask("analyst", f"GET {resorts}/days/{{dayID}}/hours", day)
    to.ask("analyst", "GET /resorts")
    to.ask("analyst", "GET /resorts/{resortID}/seasons", resort)
    to.ask("analyst", "GET /resorts/{resortID}/seasons", {"resortID": "999999999"}, name="not_found")


def _clicks(to: Recorder) -> None:
    ad = {"adId": "spring-sale"}
    to.ask("alice", "POST /ads/{adId}/clicks", ad, body={"adType": "banner", "clickedAt": at(), "clickId": "c-1"})
    event = {"adId": "spring-sale", "adType": "video", "clickedAt": at()}
    events = [{**event, "userId": "bob", "clickId": "c-2"}, {**event, "userId": "carol", "clickId": "c-3"}]
    to.ask("producer", "POST /clicks/batch", body={"events": events})
    to.ask("analyst", "GET /ads/{adId}/clicks", ad, {"limit": "2"}, until=lambda page: len(page["items"]) == 2)
    to.ask("alice", "GET /users/{userId}/clicks", {"userId": "alice"}, until=_has("items"))
    window = {"from": second(-60), "to": second(5)}
    to.ask("analyst", "GET /ads/{adId}/stats", ad, {**window, "step": "3600"}, until=_has("clicks"))
    to.ask("analyst", "GET /ads/top", query={**window, "top": "3"}, until=_has("clicks"))


def _operations(to: Recorder) -> None:
    to.ask("", "GET /health", until=_has("accepting", "reading"))
    to.ask("operator", "GET /status")
    to.ask("operator", "GET /statistics", until=_has("endpointStats"))
    to.ask("operator", "GET /parked", until=lambda answer: "parked" in answer)
    to.ask("operator", "POST /parked/return", body={"lane": "retry", "limit": 100, "rate": 10})
    to.ask("operator", "GET /dead-letters", query={"stream": "chat", "limit": "2"})
    to.ask("operator", "POST /dead-letters/redrive", body={"stream": "chat", "dryRun": True}, name="dry_run")
    to.ask("operator", "POST /dead-letters/redrive", body={"stream": "chat", "rate": 100})
    to.ask("operator", "POST /dead-letters/discard", body={"reason": "not_json", "dryRun": True}, name="dry_run")
    to.ask("operator", "POST /dead-letters/discard", body={"reason": "not_json", "confirm": 0})


def main() -> int:
    """Record the examples from the stage that runs."""
    stage = running_stage()
    if stage is None:
        print("no stage is running; start one with: make up", file=sys.stderr)
        return 1
    found = [asdict(each) for each in record(stage)]
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(found)} examples of {len({each['key'] for each in found})} routes and actions")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
