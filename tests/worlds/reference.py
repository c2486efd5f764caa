"""The schemas of the API reference, and the violations of a request or an answer."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from tools.api_reference.asyncapi import PUSHED, asyncapi
from tools.api_reference.examples import Example
from tools.api_reference.openapi import openapi

HTTP, WEBSOCKET = openapi(), asyncapi()


def violations(document: dict[str, Any], schema: Any, value: Any) -> list[str]:
    """The violations of ``value`` against a schema of ``document``."""
    whole = {"allOf": [schema], "components": document["components"]}
    return [f"{list(each.absolute_path)}: {each.message}" for each in Draft202012Validator(whole).iter_errors(value)]


def answer_violations(example: Example) -> list[str]:
    """The violations of an example's answer."""
    if " " not in example.key:
        return violations(WEBSOCKET, _answer_schema(example), example.answer)
    response = operation_of(example)["responses"][str(example.status)]
    if "$ref" in response:
        response = HTTP["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return violations(HTTP, response["content"]["application/json"]["schema"], example.answer)


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
