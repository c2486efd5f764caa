"""A stage that answers with the examples of two API descriptions, and keeps what they say against its requests."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.worlds.reference import violations

ADDED = "addedLater"
"""A field that no description has: a client must ignore it."""
Node = Mapping[str, Any]


class Description:
    """An OpenAPI or AsyncAPI document."""

    def __init__(self, path: Path) -> None:
        self.document: dict[str, Any] = json.loads(path.read_text())

    def resolved(self, node: Node) -> Node:
        """The node, or what it refers to."""
        while "$ref" in node:
            found: Any = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            node = found
        return node

    def other_form(self, schema: Node | bool, value: Any) -> Any:
        """``value`` as another release may send it: with fields that are not described, and without optional ones.

        Those that repeat what a request named are kept, as a stage always has them.
        """
        if isinstance(schema, bool):  # true: anything
            return value
        schema = self.resolved(schema)
        for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            if not violations(self.document, each, value):
                return self.other_form(each, value)
        if isinstance(value, list):
            return [self.other_form(schema.get("items", {}), each) for each in value]
        if not isinstance(value, dict):
            return value
        fields, more = schema.get("properties"), schema.get("additionalProperties")
        if not fields:
            rest = more if isinstance(more, dict) else {}  # true: whatever it is
            return {name: self.other_form(rest, each) for name, each in value.items()} if more else value
        kept = {
            name: self.other_form(fields.get(name, {}), each)
            for name, each in value.items()
            if name in schema.get("required", ()) or name in ("requestId", "roomId", "userId", "users")
        }
        return {**kept, ADDED: {"some": ["thing"]}}


class DescribedStage:
    """The stage at ``http_url`` and ``ws_url``; ``other_form`` makes its answers those of another release."""

    def __init__(self, folder: Path, *, other_form: bool = False) -> None:
        self.http, self.websocket = Description(folder / "openapi.json"), Description(folder / "asyncapi.json")
        self.operations: dict[str, Node] = {
            f"{method.upper()} {path}": each
            for path, methods in self.http.document["paths"].items()
            for method, each in methods.items()
        }
        self.actions: dict[str, Node] = {
            name: each for name, each in self.websocket.document["operations"].items() if "reply" in each
        }
        self.asked: list[str] = []
        """The operations and actions of all requests, such as ``GET /rooms/{roomId}`` and ``subscribe``."""
        self.unknown: set[str] = set()
        self.wrong: list[str] = []
        """What the descriptions say against the requests."""
        self.answers: dict[str, Any] = {}
        """The last answer to each operation."""
        self._other_form = other_form
        self.http_url = self.ws_url = ""

    def arguments(self, operation: Node) -> dict[str, Any]:
        """The parameters of a request by the examples of the description; those of the body are in ``body``."""
        found = {}
        for each in operation.get("parameters", ()):
            schema = self.http.resolved(each["schema"])
            value = each.get("example", next(iter(schema.get("enum", ())), None))
            if value is not None:
                found[each["name"]] = value
        if "requestBody" in operation:
            content = operation["requestBody"]["content"]["application/json"]
            body = next(iter(content["examples"].values()))["value"] if "examples" in content else {}
            found["body"] = {**body, "events": body["events"][:1]} if "events" in body else body  # others are wrong
        return found

    async def answer(self, request: web.Request) -> web.Response:
        """Answer an HTTP request with the first example of its success."""
        parts = request.path.split("/")
        fitting = [
            key
            for key in sorted(self.operations, key=lambda key: key.count("{"))
            if key.startswith(f"{request.method} ") and _fits(key.partition(" ")[2].split("/"), parts)
        ]
        if not fitting:
            self.unknown.add(f"{request.method} {request.path}")
            return web.json_response({"message": "Not Found"}, status=404)
        key = fitting[0]
        self.asked.append(key)
        operation, text = self.operations[key], await request.text()
        body = json.loads(text) if text else None
        given = dict(zip(key.partition(" ")[2].split("/"), parts, strict=True))
        self._check_parameters(key, operation, given, request)
        if body is not None or operation.get("requestBody", {}).get("required"):
            self._check_body(key, operation, body)
        status, content = next(
            (int(status), each["content"]["application/json"])
            for status, each in operation["responses"].items()
            if status < "3"
        )
        examples = content["examples"]
        wanted = "dry_run" if (body or {}).get("dryRun") else "ok"
        example = examples.get(wanted, next(iter(examples.values())))["value"]
        answer = _with_results(example, body or {})
        if self._other_form:
            answer = self.http.other_form(content["schema"], answer)
        self.answers[key] = answer
        return web.json_response(answer, status=status)

    def _check_parameters(self, key: str, operation: Node, path: Mapping[str, str], request: web.Request) -> None:
        described = {(each["in"], each["name"]): each for each in operation.get("parameters", ())}
        found: dict[tuple[str, str], Any] = {
            ("path", name.strip("{}")): value for name, value in path.items() if name.startswith("{")
        }
        found |= {("query", name): request.query.getall(name) for name in request.query}
        self.wrong += [f"{key}: no parameter {name}" for place, name in found.keys() - described.keys()]
        for name, each in described.items():
            if name in found:
                self._note(key, self.http, each["schema"], _value(self.http.resolved(each["schema"]), found[name]))
            elif each["required"]:
                self.wrong.append(f"{key}: {name} is missing")

    def _check_body(self, key: str, operation: Node, body: Any) -> None:
        if "requestBody" in operation:
            self._note(key, self.http, operation["requestBody"]["content"]["application/json"]["schema"], body)
        elif body:
            self.wrong.append(f"{key}: has a body")

    def _note(self, key: str, description: Description, schema: Any, value: Any) -> None:
        self.wrong += [f"{key}: {each}" for each in violations(description.document, schema, value)]

    async def follow(self, request: web.Request) -> web.WebSocketResponse:
        """Answer the frames of a connection, and push examples to connections that subscribe."""
        socket = web.WebSocketResponse(protocols=("headrace.v1",))
        await socket.prepare(request)
        async for message in socket:
            frame = json.loads(message.data)
            answer = self._framed(frame)
            await socket.send_json(answer)
            if frame["action"] in ("subscribe", "resume") and answer["type"] != "error":
                for name in ("changes",) if "userId" in frame else ("messages", "signal"):
                    await socket.send_json(self._pushed(name, frame))
        return socket

    def _framed(self, frame: dict[str, Any]) -> dict[str, Any]:
        action, head = frame["action"], {"requestId": frame.get("requestId")}
        if action not in self.actions:
            self.unknown.add(action)
            error = {"code": "invalid_request", "message": "action is unknown", "details": []}
            return {**head, "type": "error", "error": error}
        self.asked.append(action)
        described = self.actions[action]
        self._note(action, self.websocket, self._message(described["messages"][0])["payload"], frame)
        message = self._message(described["reply"]["messages"][0])
        answer = {**_with_results(message["examples"][0]["payload"], frame), **head}
        answer |= {name: frame[name] for name in ("roomId", "userId") if name in frame and name in answer}
        if action in ("resume", "check"):
            (one, *_) = answer["rooms"].values()
            answer["rooms"] = {room: {**one, "hasMore": False, "next": None} for room in frame.get("rooms", ())}
            if action == "check":
                answer["rooms"] = dict.fromkeys(frame.get("rooms", ()), one)
            if "users" in frame:
                none = {"items": [], "missed": False, "hasMore": False, "position": one["position"]}
                answer["users"] = dict.fromkeys(frame["users"], none)
        answer |= {name: value for name, value in self._times().items() if name in answer}
        if action == "history":
            answer |= {"hasMore": False, "next": None}
        return self._formed(message, answer)

    def _pushed(self, name: str, frame: Node) -> dict[str, Any]:
        message = self.websocket.document["components"]["messages"][name]
        example = message["examples"][0]["payload"]
        given = {key: frame[key] for key in ("roomId", "userId") if key in frame and name != "signal"}
        return self._formed(message, {**example, **given})

    def _formed(self, message: Node, answer: dict[str, Any]) -> dict[str, Any]:
        if self._other_form:
            answer = self.websocket.other_form(message["payload"], answer)
        return answer

    def _message(self, node: Node) -> Node:
        return self.websocket.resolved(self.websocket.resolved(node))

    def _times(self) -> dict[str, str]:
        """The server's time, and an expiry: soon, until the client has renewed its token."""
        left = 3600 if "authenticate" in self.asked else 2
        return {name: _time(time.time() + more) for name, more in (("time", 0), ("tokenExpiresAt", left))}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _fits(template: list[str], parts: list[str]) -> bool:
    return len(template) == len(parts) and all(
        name.startswith("{") or name == part for name, part in zip(template, parts, strict=True)
    )


def _value(schema: Node, given: str | list[str]) -> Any:
    """What a text in a URL stands for."""
    kind = schema.get("type")
    if kind == "array":
        return [_value(schema["items"], each) for each in given]
    text = given if isinstance(given, str) else given[0]
    if kind == "integer":
        return int(text)
    return {"true": True, "false": False}.get(text, text) if kind == "boolean" else text


def _with_results(example: Any, request: Node) -> Any:
    """The example with a result for each event of the request."""
    events = request.get("events", [request])
    if not isinstance(example, dict) or "results" not in example:
        return example
    return {**example, "results": (example["results"] * len(events))[: len(events)]}


@asynccontextmanager
async def running(folder: Path, *, other_form: bool = False) -> AsyncIterator[DescribedStage]:
    """A running stage with the descriptions in ``folder``."""
    stage, app = DescribedStage(folder, other_form=other_form), web.Application()
    app.router.add_get("/ws", stage.follow)
    app.router.add_route("*", "/{path:.*}", stage.answer)
    server = TestServer(app)
    await server.start_server()
    stage.http_url = str(server.make_url("")).rstrip("/")
    stage.ws_url = stage.http_url.replace("http", "ws", 1) + "/ws"
    try:
        yield stage
    finally:
        await asyncio.wait_for(server.close(), 20)
