"""The schemas of the API descriptions as ``TypedDict`` and other aliases of Python types."""

from __future__ import annotations

import keyword
import textwrap
from typing import Any

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def definitions(*documents: dict[str, Any]) -> list[str]:
    """All schemas of the documents as Python.

    Raises:
        ValueError: two different schemas have the same name.
    """
    schemas: dict[str, dict[str, Any]] = {}
    for name, schema in (each for document in documents for each in document["components"]["schemas"].items()):
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two different schemas are named {name}")
    return [_definition(name, schema) for name, schema in sorted(schemas.items())]


def type_of(schema: dict[str, Any]) -> str:
    """The Python type of a schema; other schemas are named."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return f"Literal[{_text(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(_text(each) for each in schema['enum'])}]"
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _union([type_of(each) for each in schema[union]])
    kinds = schema.get("type", [])
    return _union([_of_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)])


def _of_kind(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array":
        return f"list[{type_of(schema.get('items', {}))}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {type_of(values) if isinstance(values, dict) else 'Any'}]"
    return PLAIN[kind]


def _union(types: list[str]) -> str:
    return " | ".join(dict.fromkeys(types)) or "Any"


def _text(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _definition(name: str, schema: dict[str, Any]) -> str:
    described = _docstring(schema.get("description", ""))
    if "properties" not in schema and schema.get("type") != "object":
        # Quoted, because it can name later schemas.
        return f"{name}: TypeAlias = '{type_of(schema)}'\n{described}"
    required = schema.get("required", ())
    fields = {
        field: type_of(each) if field in required else f"NotRequired[{type_of(each)}]"
        for field, each in schema.get("properties", {}).items()
    }
    if any(keyword.iskeyword(field) for field in fields):
        listed = "".join(f"    '{field}': '{each}',\n" for field, each in fields.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{listed}    }},\n)\n{described}'
    lines = [f"    {field}: {each}\n" for field, each in fields.items()] or ["    pass\n"]
    return (
        f"class {name}(TypedDict):\n{textwrap.indent(described, '    ')}{chr(10) if described else ''}{''.join(lines)}"
    )


def _docstring(text: str) -> str:
    """The text as a docstring with lines of at most 110 characters."""
    if not text:
        return ""
    paragraphs = [textwrap.fill(" ".join(each.split()), 110) for each in text.replace("\\", "\\\\").split("\n\n")]
    end = "\n" if len(paragraphs) > 1 or "\n" in paragraphs[0] else ""
    return f'"""{(chr(10) * 2).join(paragraphs)}{end}"""\n'
