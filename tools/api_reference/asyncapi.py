"""The AsyncAPI 3 document of the WebSocket API: the actions that clients send, their answers, and pushed frames."""

from __future__ import annotations

from typing import Any

from headrace.api.params import names_of
from headrace.api.responses import REQUEST_ID_FORM, REQUEST_ID_LIMIT, SUBPROTOCOL
from headrace.streams.chat.live.frames import Acks, Messages
from headrace.streams.chat.live.signals import Signal
from tools.api_reference.examples import event_of, examples_of, receipt_of
from tools.api_reference.openapi import VERSION, batch_schema, error_schema, own_error, write_schemas
from tools.api_reference.routes import Declared, actions, mapping
from tools.api_reference.schemas import Models, Schema, schema_of
from tools.api_reference.texts import first_line, text

REQUEST_ID = {
    "type": ["string", "number"],
    "maxLength": REQUEST_ID_LIMIT,
    "description": f"The client's id of the frame, {REQUEST_ID_FORM}; the answer has the same.",
}
GATEWAY = "gatewayRefusal"
"""API Gateway's own answer to a frame. It has no ``type``, and its ``requestId`` is not that of the frame."""
PUSHED: dict[str, tuple[Any, str]] = {
    "messages": (Messages, "New messages of a room that the connection subscribed to"),
    "signal": (Signal, "A signal in a room that the connection subscribed to"),
}
"""The frames that no request asks for: the type of each, and its summary."""


def asyncapi() -> dict[str, Any]:
    """The document, with every action of every function."""
    found = actions()
    models = Models(found)
    messages = {"error": _error_message(found), GATEWAY: _gateway_message()}
    operations: dict[str, Any] = {}
    for each in found:
        answer = _answer_name(each, models)
        messages[each.key] = _frame(each, models)
        messages[answer] = _answer(each, models)
        operations[each.key] = _operation(each, answer)
    schemas: dict[str, Any] = {}
    for name, (kind, summary) in PUSHED.items():
        more, pushed = schema_of(kind)
        schemas |= more
        messages[name] = {
            "summary": first_line(name),
            "payload": pushed,
            "examples": [{"name": each.name, "payload": each.answer} for each in examples_of(name)],
        }
        operations[f"push{name[0].upper()}{name[1:]}"] = {
            "action": "send",
            "channel": {"$ref": "#/channels/connection"},
            "summary": summary,
            "description": text(name),
            "messages": [{"$ref": f"#/channels/connection/messages/{name}"}],
        }
    schemas |= {**models.used_by([messages, operations]), "Error": error_schema()}
    for each in found:
        schemas |= {name: schema for name, schema in write_schemas(each).items() if name.endswith("Result")}
    channel = {
        "address": "/",
        "description": text("connection"),
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
        "bindings": {"ws": {"method": "GET", "bindingVersion": "0.1.0", "headers": _handshake()}},
    }
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Headrace WebSocket API", "version": VERSION, "description": text("websocket")},
        "defaultContentType": "application/json",
        "servers": {
            "local": {
                "host": "127.0.0.1:8788",
                "pathname": "/local",
                "protocol": "ws",
                "description": "The local stage",
                "security": [{"$ref": "#/components/securitySchemes/token"}],
            }
        },
        "channels": {"connection": channel},
        "operations": operations,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "httpApiKey",
                    "in": "header",
                    "name": "Sec-WebSocket-Protocol",
                    "description": f"Two subprotocols: `{SUBPROTOCOL}`, and an access token.",
                }
            },
            "messages": messages,
            "schemas": dict(sorted(schemas.items())),
        },
    }


def _operation(action: Declared, answer: str) -> dict[str, Any]:
    replies = [{"$ref": f"#/channels/connection/messages/{name}"} for name in (answer, "error", GATEWAY)]
    return {
        "action": "receive",
        "channel": {"$ref": "#/channels/connection"},
        "summary": action.summary,
        "description": action.description or action.summary,
        "messages": [{"$ref": f"#/channels/connection/messages/{action.key}"}],
        "reply": {"channel": {"$ref": "#/channels/connection"}, "messages": replies},
        # AsyncAPI has fields for OAuth2 scopes only, and none for the errors of an operation.
        "x-scopes": list(action.route.scopes or ()),
        "x-errors": [mapping(each).code for each in action.errors()],
    }


def _frame(action: Declared, models: Models) -> dict[str, Any]:
    """The message of a frame: its action, its id, and the fields of its models or of its events."""
    properties: dict[str, Any] = {"action": {"const": action.key}, "requestId": REQUEST_ID}
    required = ["action"]
    route = action.route
    if route.batch:
        given = batch_schema(action, models)
        properties |= given["properties"]
        required += given["required"]
    elif route.stream is not None:
        event = models.resolved(action.key, "event")
        properties |= event["properties"]
        required += event["required"]
    for kind, model in (("body", route.body), ("query", route.query)):
        if model is not None:
            schema = models.resolved(action.key, kind)
            properties |= {name: schema["properties"][name] for name in names_of(model)[0]}
            required += schema.get("required", [])
    return {
        "summary": action.summary,
        "payload": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        "examples": [
            {"name": each.name, "payload": each.request["body"]}
            for each in examples_of(action.key)
            if each.name == "ok"
        ],
    }


def _answer_name(action: Declared, models: Models) -> str:
    """The ``type`` of an action's answer; a page of history has the name of its action, so it gets another one."""
    name = str(models.resolved(action.key, "answer")["properties"]["type"]["const"])
    return f"{name}Page" if name == action.key else name


def _answer(action: Declared, models: Models) -> dict[str, Any]:
    schema = models.schema(action.key, "answer")
    described = models.resolved(action.key, "answer")
    if action.route.answer is Acks:
        results = write_schemas(action)["ChatResults"]["properties"]
        schema = {**described, "properties": {**described["properties"], **results}}
    return {
        "summary": described["description"],
        "payload": schema,
        "examples": [
            {"name": each.name, "payload": each.answer} for each in examples_of(action.key) if each.name == "ok"
        ],
    }


def _error_message(found: list[Declared]) -> dict[str, Any]:
    single = next(each for each in found if each.route.stream is not None and not each.route.batch)
    stream = single.route.stream
    receipt = receipt_of(stream, event_of(single.key)) if stream is not None else ()
    properties: dict[str, Schema] = {
        "type": {"const": "error"},
        "requestId": REQUEST_ID,
        **{name: {"type": "string", "description": f"Of the refused message, for {single.key}."} for name in receipt},
        "error": own_error(),
    }
    return {
        "summary": first_line("error"),
        "payload": {"type": "object", "properties": properties, "required": ["type", "error"]},
        "examples": [
            {"name": f"{each.key}_{each.name}", "payload": each.answer}
            for action in found
            for each in examples_of(action.key)
            if each.name != "ok"
        ],
    }


def _gateway_message() -> dict[str, Any]:
    fields = {name: {"type": "string"} for name in ("message", "connectionId", "requestId")}
    summary = "A refusal of API Gateway itself, such as of a frame beyond the route's rate"
    return {"summary": summary, "payload": {"type": "object", "properties": fields, "required": list(fields)}}


def _handshake() -> Schema:
    return {
        "type": "object",
        "properties": {
            "Sec-WebSocket-Protocol": {
                "type": "string",
                "pattern": rf"^{SUBPROTOCOL.replace('.', '[.]')}, *[^ ,]+$",
                "description": f"`{SUBPROTOCOL}` and the access token; the server picks the first.",
            }
        },
        "required": ["Sec-WebSocket-Protocol"],
    }
