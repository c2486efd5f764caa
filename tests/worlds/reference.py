"""The schemas of the API reference, and the violations of a request or an answer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from tools.api_reference.asyncapi import PUSHED, asyncapi
from tools.api_reference.examples import Example
from tools.api_reference.openapi import openapi

HTTP, WEBSOCKET = openapi(), asyncapi()
FORMATS = FormatChecker(formats=[])


@FORMATS.checks("date-time", raises=ValueError)
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def violations(document: dict[str, Any], schema: Any, value: Any) -> list[str]:
    """The violations of ``value`` against a schema of ``document``."""
    whole = {"allOf": [schema], "components": document["components"]}
    found = Draft202012Validator(whole, format_checker=FORMATS).iter_errors(value)
    return [f"{list(each.absolute_path)}: {each.message}" for each in found]


def schemas() -> dict[str, Any]:
    """Every schema of both documents, with all that it refers to, by its place."""
    return {
        f"{document['info']['title']} {place}": {**schema, "components": {"schemas": document["components"]["schemas"]}}
        for document in (HTTP, WEBSOCKET)
        for place, schema in _schemas_in(document, "#")
    }


def _schemas_in(node: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name in ("schema", "payload") and "examples" not in place.split("/"):
                yield f"{place}/{name}", value
            elif place == "#/components" and name == "schemas":
                yield from ((f"{place}/schemas/{each}", schema) for each, schema in value.items())
            else:
                yield from _schemas_in(value, f"{place}/{name}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _schemas_in(value, f"{place}/{index}")


def answer_violations(example: Example) -> list[str]:
    """The violations of an example's answer."""
    if " " not in example.key:
        return violations(WEBSOCKET, _answer_schema(example), example.answer)
    response = operation_of(example)["responses"][str(example.status)]
    if "$ref" in response:
        response = HTTP["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return violations(HTTP, response["content"]["application/json"]["schema"], example.answer)


def answer_to(method: str, path: str, status: int, answer: Any) -> list[str]:
    """The violations of an answer to a request that was sent; ``path`` may have a query."""
    parts = path.partition("?")[0].split("/")
    fitting = [
        methods[method.lower()]
        for template, methods in sorted(HTTP["paths"].items(), key=lambda each: "{" in each[0])
        if method.lower() in methods and _fits(template.split("/"), parts)
    ]
    schema: Any = {"$ref": "#/components/schemas/GatewayRefusal"}
    if fitting:
        response = fitting[0]["responses"].get(str(status))
        if response is None:
            return [f"{status} is not described"]
        name = response.get("$ref", "").rpartition("/")[2]
        schema = HTTP["components"]["responses"].get(name, response)["content"]["application/json"]["schema"]
    return violations(HTTP, schema, answer)


def _fits(template: list[str], parts: list[str]) -> bool:
    return len(template) == len(parts) and all(
        name.startswith("{") or name == part for name, part in zip(template, parts, strict=True)
    )


def frame_to_client(frame: Any) -> list[str]:
    """The violations of a frame that a client received."""
    payload = _FRAMES.get(frame.get("type", ""))
    return ["is of a type that is not described"] if payload is None else violations(WEBSOCKET, payload, frame)


def is_error(example: Example) -> bool:
    """Whether the answer is an error frame."""
    return isinstance(example.answer, dict) and example.answer.get("type") == "error"


def operation_of(example: Example) -> dict[str, Any]:
    """The HTTP operation of an example."""
    method, path = example.key.split()
    operation: dict[str, Any] = HTTP["paths"][path][method.lower()]
    return operation


def _answer_schema(example: Example) -> Any:
    messages = WEBSOCKET["components"]["messages"]
    if is_error(example) or example.key in PUSHED:
        return messages["error" if is_error(example) else example.key]["payload"]
    replies = WEBSOCKET["operations"][example.key]["reply"]["messages"]
    return messages[replies[0]["$ref"].rpartition("/")[2]]["payload"]


def _frames() -> dict[str, Any]:
    """The schemas of all frames to clients, by their types; "" is API Gateway's own, which has none."""
    messages = WEBSOCKET["components"]["messages"]
    found = {}
    for name in messages.keys() - WEBSOCKET["operations"].keys() | PUSHED.keys():
        payload = messages[name]["payload"]
        schema = WEBSOCKET["components"]["schemas"][payload["$ref"].rpartition("/")[2]]
        found[schema["properties"].get("type", {}).get("const", "")] = payload
    return found


_FRAMES = _frames()
