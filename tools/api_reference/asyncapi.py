"""The AsyncAPI 3 document of the WebSocket API: the actions that clients send, their answers, and pushed frames."""

from __future__ import annotations

from typing import Any

import yaml

from headrace.api.authorizer import REFUSALS
from headrace.api.claims import SUBPROTOCOL
from headrace.api.params import names_of
from headrace.features.channels.channels import Changes
from headrace.features.declared.follow import EventsPushed
from headrace.features.room_deletion.routes import RoomDeleted
from headrace.features.signals.routes import Signal
from headrace.streams.chat.live.frames import Acks, Messages
from tools.api_reference.examples import examples_of
from tools.api_reference.openapi import COMMON, VERSION
from tools.api_reference.results import batch_schema, error_schemas, receipt_schemas, ref, result_schemas
from tools.api_reference.routes import Declared, actions, mapping
from tools.api_reference.schemas import Models, Schema, schema_of
from tools.api_reference.texts import FOLDER, first_line, text

PUSHED: dict[str, tuple[Any, str]] = {
    "messages": (Messages, "New messages of a room that the connection subscribed to"),
    "changes": (Changes, "What has changed for the user of the connection"),
    "events": (EventsPushed, "New events of a declared stream with a key that the connection follows"),
    "roomDeleted": (RoomDeleted, "The end of a room that the connection subscribed to"),
    "signal": (Signal, "A signal in a room that the connection subscribed to"),
}
"""The frames that no request asks for: the type of each, and its summary."""


def asyncapi() -> dict[str, Any]:
    """The document, with every action of every function."""
    found = actions()
    models = Models(found)
    document: dict[str, Any] = yaml.safe_load((FOLDER / "asyncapi.yaml").read_text(encoding="utf-8"))
    schemas = {name: schema for name, schema in error_schemas().items() if name not in COMMON}
    schemas |= document["components"]["schemas"]
    gateway = schemas["GatewayErrorFrame"]["description"].rstrip(".")
    rate = ("rate", schemas["GatewayErrorFrame"]["examples"][0])
    messages = {
        "error": _error_message(found, schemas),
        "gatewayRefusal": _message("GatewayErrorFrame", gateway, [rate]),
    }
    operations: dict[str, Any] = document["operations"]
    clients, servers = list[str](), ["ErrorFrame"]
    for each in found:
        answer = _answer_name(each, models)
        schemas |= result_schemas(each)
        messages[each.key] = _frame(each, models, schemas)
        messages[answer] = _answer(each, models)
        operations[each.key] = _operation(each, answer)
        clients.append(messages[each.key]["name"])
        servers.append(messages[answer]["name"])
    for name, (kind, summary) in PUSHED.items():
        more, pushed = schema_of(kind)
        schemas |= {**more, kind.__name__: pushed}
        messages[name] = _message(
            kind.__name__, first_line(name), [(each.name, each.answer) for each in examples_of(name)]
        )
        operations[f"push{name[0].upper()}{name[1:]}"] = {
            "action": "send",
            "channel": {"$ref": "#/channels/connection"},
            "summary": summary,
            "description": text(name),
            "messages": [{"$ref": f"#/channels/connection/messages/{name}"}],
        }
        servers.append(kind.__name__)
    unions = {
        "ClientFrame": ("receive", "action", clients, "A frame that a client sends"),
        "ServerFrame": ("send", "type", servers, "A frame that a client gets: an answer, an error, or what is pushed"),
    }
    for name, (action, discriminator, names, said) in unions.items():
        schemas[name] = _union(f"{said}.", names, discriminator)
        operations[f"{action}Frame"] = {
            "action": action,
            "channel": {"$ref": "#/channels/frames"},
            "summary": said,
            "messages": [{"$ref": f"#/channels/frames/messages/{name}"}],
        }
    schemas = models.used_by([messages, schemas]) | schemas
    schemas["RoomError"]["properties"]["error"] = ref("Error")
    for _, discriminator, names, _ in unions.values():
        for name in names:  # generators make a type of the constant, which then has a name
            schemas[name]["properties"][discriminator]["title"] = f"{name}{discriminator.title()}"
    document["info"] |= {"version": VERSION, "description": text("websocket")}
    connection, frames = document["channels"]["connection"], document["channels"]["frames"]
    connection["description"] = text("connection")
    connection["messages"] = {name: {"$ref": f"#/components/messages/{name}"} for name in messages}
    refused = "|".join(sorted(REFUSALS)).replace(".", "[.]")
    header = connection["bindings"]["ws"]["headers"]["properties"]["Sec-WebSocket-Protocol"]
    header["pattern"] = rf"^{SUBPROTOCOL.replace('.', '[.]')}, *[^ ,]+(?:, *(?:{refused}))*$"
    frames["messages"] = {
        name: _message(name, f"{said}.", [(at, messages[at]["examples"][0]["payload"])])
        for (name, (*_, said)), at in zip(unions.items(), ("ping", "pong"), strict=True)
    }
    document["components"] |= {"messages": messages, "schemas": dict(sorted(schemas.items()))}
    return document


def _operation(action: Declared, answer: str) -> dict[str, Any]:
    replies = [{"$ref": f"#/channels/connection/messages/{name}"} for name in (answer, "error", "gatewayRefusal")]
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


def _message(schema: str, summary: str, examples: list[tuple[str, Any]], *, with_id: bool = False) -> dict[str, Any]:
    """A message whose payload has the schema of that name; a frame and its answer have the same ``requestId``."""
    return {
        "name": schema,
        "title": schema,
        "summary": summary,
        "payload": ref(schema),
        **({"correlationId": {"location": "$message.payload#/requestId"}} if with_id else {}),
        **({"examples": [{"name": name, "payload": payload} for name, payload in examples]} if examples else {}),
    }


def _union(description: str, names: list[str], discriminator: str) -> Schema:
    """One of several schemas, which the constant in the field ``discriminator`` tells apart."""
    return {"description": description, "discriminator": discriminator, "oneOf": [ref(name) for name in names]}


def _frame(action: Declared, models: Models, schemas: dict[str, Schema]) -> dict[str, Any]:
    """The message of a frame: its action, its id, and the fields of its models or of its events."""
    properties: dict[str, Any] = {"action": {"const": action.key, "type": "string"}, "requestId": ref("RequestId")}
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
    name = f"{action.key[0].upper()}{action.key[1:]}Frame"
    schemas[name] = {
        "type": "object",
        "description": f"{action.summary}.",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    sent = [(each.name, each.request["body"]) for each in examples_of(action.key) if each.name == "ok"]
    return _message(name, action.summary, sent, with_id=True)


def _answer_name(action: Declared, models: Models) -> str:
    """The ``type`` of an action's answer; a page of history has the name of its action, so it gets another one."""
    name = str(models.resolved(action.key, "answer")["properties"]["type"]["const"])
    return f"{name}Page" if name == action.key else name


def _answer(action: Declared, models: Models) -> dict[str, Any]:
    described = models.resolved(action.key, "answer")
    if action.route.answer is Acks:
        described["properties"]["results"]["items"] = ref("MessageResult")
    answers = [(each.name, each.answer) for each in examples_of(action.key) if each.name == "ok"]
    return _message(action.route.answer.__name__, described["description"], answers, with_id=True)


def _error_message(found: list[Declared], schemas: dict[str, Schema]) -> dict[str, Any]:
    single = next(each for each in found if each.route.stream is not None and not each.route.batch)
    properties: dict[str, Schema] = {
        "type": {"const": "error", "type": "string"},
        "requestId": ref("RequestId"),
        **{
            name: {**schema, "description": f"Of the refused message, for {single.key}."}
            for name, schema in receipt_schemas(single).items()
        },
        "error": ref("Error"),
    }
    said = first_line("error")
    schemas["ErrorFrame"] = {
        "type": "object",
        "description": said,
        "properties": properties,
        "required": ["type", "error"],
    }
    refused = [
        (f"{each.key}_{each.name}", each.answer)
        for action in found
        for each in examples_of(action.key)
        if each.name != "ok"
    ]
    return _message("ErrorFrame", said, refused, with_id=True)
