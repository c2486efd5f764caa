"""The OpenAPI document of a declared stream: its routes with its name, its fields and its parameters."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from headrace.api.paging.request import PageRequest
from headrace.core.fields import NAMED
from headrace.delivery.http_routes import BATCH_LIMIT
from headrace.features.analytics.requests import StepQuery, TopQuery, WindowQuery
from headrace.features.analytics.responses import ActiveUsersAnswer
from headrace.features.declared.answers import EventPage, EventSeries, EventTop, EventWindow
from headrace.features.declared.stream import USER, Events

Schema = dict[str, Any]
_REFUSED = {"description": "Refused: `error` has a `code`, a `message`, and `details` that name each field."}


class Document(TypedDict):
    """An OpenAPI document."""

    openapi: str
    info: dict[str, str]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[Any]


def document(events: Events) -> Document:
    """The document of a stream. Its server is the stage that answers with it."""
    declared = events.declared
    name, path = declared.event.__name__, f"/streams/{declared.name}"
    one: Schema = {"$ref": f"#/components/schemas/{name}"}
    batch = {"type": "array", "items": one, "minItems": 1, "maxItems": BATCH_LIMIT}
    several: Schema = {"type": "object", "properties": {"events": batch}, "required": ["events"]}
    shown = example(events.schema) | ({to_camel(declared.user): "alice"} if declared.user else {})
    send = {
        "summary": f"Send one event, or up to {BATCH_LIMIT}",
        "requestBody": {"required": True, "content": _json({"oneOf": [one, several]}, shown)},
        "responses": {"202": {"description": "One result for each event, in the order sent."}, "4XX": _REFUSED},
    }
    of_key, counted = [to_camel(declared.key)], list(map(to_camel, declared.counted))
    filters = [*counted, USER] if declared.user else counted
    paths: dict[str, Any] = {
        f"{path}/events": {"post": send, "get": _get("Read a page of events", EventPage, PageRequest, of_key)},
        f"{path}/window": {"get": _get("Get the totals of a window", EventWindow, TopQuery, filters)},
        f"{path}/top": {"get": _get("Get the top values of a field", EventTop, TopQuery, [*filters, "by"])},
        f"{path}/series": {"get": _get("Get counts for each step of a window", EventSeries, StepQuery, filters)},
    }
    if declared.user:
        of_user = _get("Read a page of a user's events", EventPage, PageRequest, [])
        of_user["parameters"].append({"name": USER, "in": "path", "required": True, "schema": {"type": "string"}})
        paths[f"{path}/users/{{{USER}}}/events"] = {"get": of_user}
        active = _get("Count the users of a window", ActiveUsersAnswer, WindowQuery, filters)
        paths[f"{path}/active-users"] = {"get": active}
    token = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    return {
        "openapi": "3.1.0",
        "info": {"title": declared.name, "version": "1", "description": declared.event.__doc__ or declared.name},
        "paths": paths,
        "components": {"schemas": {name: events.schema}, "securitySchemes": {"token": token}},
        "security": [{"token": []}],
    }


def example(schema: Schema) -> Schema:
    """An event that has the fields which a schema requires."""
    return {name: _value(schema["properties"][name]) for name in schema["required"]}


def _value(field: Schema) -> Any:
    if "enum" in field or "const" in field:
        return field.get("const", field.get("enum", [None])[0])
    return {"string": "front", "boolean": True}.get(field["type"], field.get("minimum", 1))


def _get(summary: str, answer: Any, query: type[BaseModel], names: Iterable[str]) -> Schema:
    more = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
    responses = {"200": {"description": "The answer.", "content": _json(_schema(answer))}, "4XX": _REFUSED}
    return {"summary": summary, "parameters": [*_parameters(query), *more], "responses": responses}


def _parameters(query: type[BaseModel]) -> list[Schema]:
    schema = query.model_json_schema()
    shown = {field.alias or name for name, field in query.model_fields.items() if not field.exclude}
    return [
        {"name": name, "in": "query", "required": name in schema.get("required", []), "schema": _plain(each)}
        for name, each in schema["properties"].items()
        if name in shown
    ]


@functools.cache
def _schema(answer: Any) -> Schema:
    found: Schema = _plain(TypeAdapter(answer).json_schema(ref_template="{model}"))
    definitions = found.pop("$defs", {})
    filled: Schema = _filled(found, definitions)
    return filled


def _filled(node: Any, definitions: Mapping[str, Any]) -> Any:
    """``node`` with what it refers to in its place: the answers have no circles."""
    if isinstance(node, list):
        return [_filled(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _filled(definitions[node["$ref"]], definitions)
    return {name: _filled(each, definitions) for name, each in node.items()}


def _plain(node: Any) -> Any:
    """``node`` without the names that the reference gives to types."""
    if isinstance(node, list):
        return list(map(_plain, node))
    if not isinstance(node, dict):
        return node
    return {name: _plain(each) for name, each in node.items() if name != NAMED}


def _json(schema: Schema, shown: Any = None) -> Schema:
    return {"application/json": {"schema": schema} | ({} if shown is None else {"example": shown})}
