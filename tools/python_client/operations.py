"""The operations of the HTTP API as methods of the Python client, named after their operationIds."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from typing import Any

from tools.python_client.types import type_of

FILTERED = ("listEvents", "getEventWindow", "getEventTop", "getEventSeries", "countActiveEventUsers")
"""The operations with parameters that are named as fields of a declared stream, which the document cannot name."""


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All operations of the document, in its order, for the template: their arguments, and those of ``Request``."""
    for path, methods in document["paths"].items():
        for method, each in methods.items():
            body = each.get("requestBody", {})
            success = next(answer for status, answer in each["responses"].items() if status < "3")
            arguments, call = ["self"], [f'"{method.upper()}"']
            text, in_query, options = path, [], []
            for one in sorted(each.get("parameters", []), key=lambda one: not one.get("required")):
                name = snake(one["name"])
                if one["in"] == "path":
                    arguments.append(f"{name}: str | int")
                    text = text.replace(f"{{{one['name']}}}", f"{{_segment({name})}}")
                else:
                    in_query.append(f'"{one["name"]}": {name}')
                    options.append(f"{name}: {_type(one['schema'])}{'' if one.get('required') else ' | None = None'}")
            call.append(f'{"f" if text != path else ""}"{text}"')
            if each["operationId"] in FILTERED:
                in_query.append("**(filters or {})")
                options.append("filters: Mapping[str, str] | None = None")
            call += [f"query={{{', '.join(in_query)}}}"] if in_query else []
            if body:
                needed = body.get("required")
                arguments.append(f"body: {_type(_schema(body))}{'' if needed else ' | None = None'}")
                call.append("body=body" if needed else "body=body or {}")
            arguments += ["*", *options] if options else []
            yield {
                "name": snake(each["operationId"]),
                "arguments": arguments,
                "answer": _type(_schema(success)),
                "summary": each["summary"],
                "call": call,
            }


def snake(name: str) -> str:
    """``resortID`` as ``resort_id``; a word of Python, such as ``from``, gets a ``_``."""
    found = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return f"{found}_" if keyword.iskeyword(found) else found


def _schema(described: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = described["content"]["application/json"]["schema"]
    return schema


def _type(schema: dict[str, Any]) -> str:
    """The type of a schema, whose named types are in the module ``types``."""
    return re.sub(r'(?<!["\w])(?!Any|Literal|None)[A-Z]\w+', r"types.\g<0>", type_of(schema))
