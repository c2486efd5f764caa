"""JSON schemas of parameter models, events and answers.

What a validator accepts stands beside it in the layer, as ``accepts(…)``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from headrace.core.fields import NAMED, QUERY_TIME_SCHEMA, TIME_SCHEMA, sent_names
from tools.api_reference.routes import Declared, plain

Schema = dict[str, Any]
REF = "#/components/schemas/"


class Generator(GenerateJsonSchema):
    """Pydantic's generator; names of a mapping are described as the layer checks them."""

    def dict_schema(self, schema: core_schema.DictSchema) -> Schema:
        """An object with any names; names that the pattern does not match are refused, like those of a wrong length."""
        found = super().dict_schema(schema)
        for pattern, values in found.pop("patternProperties", {}).items():
            names = {**found.get("propertyNames", {}), "pattern": pattern}
            found |= {"propertyNames": names, "additionalProperties": values}
        return found


class Models:
    """The schemas of all models of ``routes``: answers and events by reference, parameters as properties."""

    def __init__(self, routes: Iterable[Declared]) -> None:
        inputs: list[Any] = []
        for each in routes:
            for kind in ("path", "query", "body", "answer"):
                if (model := getattr(each.route, kind)) is not None:
                    mode = "serialization" if kind == "answer" else "validation"
                    inputs.append(((each.key, kind), mode, TypeAdapter(model)))
            if each.route.stream is not None and each.route.stream.incoming is not None:
                inputs.append(((each.key, "event"), "validation", TypeAdapter(each.route.stream.incoming)))
        found, document = TypeAdapter.json_schemas(inputs, ref_template=f"{REF}{{model}}", schema_generator=Generator)
        self._found = {key: schema for (key, _mode), schema in found.items()}
        self._all: dict[str, Schema] = {}
        self._all |= {name: _tidy(each, self._all) for name, each in document.get("$defs", {}).items()}
        events = {each.route.stream.incoming: each.key for each in routes if each.route.stream is not None}
        for event, key in events.items():
            if event is not None:
                _add_other_names(self.resolved(key, "event"), event)
        for each in routes:
            self._say_what_may_be_left_out(each)

    def _say_what_may_be_left_out(self, route: Declared) -> None:
        for kind, model in (("query", route.route.query), ("body", route.route.body)):
            if model is not None and not model.keeps_null:
                _allow_null(self.resolved(route.key, kind))
        for kind in ("event", "body") if route.is_http else ("event", "body", "query"):
            _say_defaults(self.resolved(route.key, kind))

    def schema(self, key: str, kind: str) -> Schema:
        """The schema of a route's model: a reference, except for plain types."""
        schema: Schema = _tidy(self._found[key, kind], self._all)
        return schema

    def resolved(self, key: str, kind: str) -> Schema:
        """The schema of a route's model itself; empty if the route has none."""
        schema = self._found.get((key, kind), {})
        if "$ref" in schema:
            return self._all[schema["$ref"].removeprefix(REF)]
        tidy: Schema = _tidy(schema, self._all)
        return tidy

    def used_by(self, document: object) -> dict[str, Schema]:
        """The schemas that ``document`` refers to, with those that these refer to."""
        used: dict[str, Schema] = {}
        waiting = list(references(document))
        while waiting:
            name = waiting.pop()
            if name not in used and name in self._all:
                used[name] = self._all[name]
                waiting += references(used[name])
        return dict(sorted(used.items()))


def references(node: object) -> Iterable[str]:
    """The names of the schemas that ``node`` refers to."""
    if isinstance(node, Mapping):
        if isinstance(target := node.get("$ref"), str):
            yield target.removeprefix(REF)
        for each in node.values():
            yield from references(each)
    elif isinstance(node, list):
        for each in node:
            yield from references(each)


def parameter(schema: Schema) -> Schema:
    """The schema of a field as a parameter of a path or a query, where every value is text."""
    kept = {name: value for name, value in schema.items() if name != "description"}
    if "anyOf" in kept:
        kept["anyOf"] = [each for each in kept["anyOf"] if each != {"type": "null"}]
        return kept if len(kept["anyOf"]) > 1 else kept["anyOf"][0]
    kinds = kept.get("type")
    if isinstance(kinds, list):
        kinds = [each for each in kinds if each != "null"]
        kept["type"] = kinds[0] if len(kinds) == 1 else kinds
    if "enum" in kept:
        kept["enum"] = [each for each in kept["enum"] if each is not None]
    if isinstance(items := kept.get("items"), dict):
        kept["items"] = parameter(items)
    if kinds in ("integer", ["integer", "string"]):
        return {name: value for name, value in kept.items() if name != "pattern"} | {"type": "integer"}
    if kinds == TIME_SCHEMA["type"]:
        return {name: value for name, value in kept.items() if name not in TIME_SCHEMA} | QUERY_TIME_SCHEMA
    return kept


def _tidy(node: Any, found: dict[str, Schema]) -> Any:
    """``node`` without the titles that repeat a field's name; a field that may be null has ``null`` in its type.

    A schema with a name goes to ``found``, and a reference takes its place.
    """
    if isinstance(node, list):
        return [_tidy(each, found) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {name: _tidy(value, found) for name, value in node.items() if name != "title" or isinstance(value, dict)}
    if isinstance(text := kept.get("description"), str):
        kept["description"] = plain(text)
    if "default" in kept and kept["default"] is None:
        del kept["default"]
        given = [each for each in kept.get("anyOf", []) if each != {"type": "null"}]
        if len(given) == 1:
            del kept["anyOf"]
            kept = {**_or_null(given[0]), **kept}
    if isinstance(given_name := kept.pop(NAMED, None), dict):
        about = {each: kept.pop(each) for each in ("description", "default") if each in kept}
        named = {**({} if "type" in given_name else kept), **given_name}
        name = named.pop("name")
        found[name] = named
        return {"$ref": f"{REF}{name}", **about}
    return kept


def _allow_null(model: Schema) -> None:
    properties = model.get("properties", {})
    for name in properties.keys() - set(model.get("required", [])):
        properties[name] = _or_null(properties[name])


def _say_defaults(model: Schema) -> None:
    """Move defaults to the descriptions: generators make a field with a default a required one."""
    for schema in model.get("properties", {}).values():
        default = schema.pop("default", None)
        if default not in (None, ""):
            said = json.dumps(default) if not isinstance(default, str) else default
            schema["description"] = "; ".join(filter(None, [schema.get("description"), f"default `{said}`"]))


def _add_other_names(schema: Schema, model: type[BaseModel]) -> None:
    """Add the other names of fields to the schema of an event, which may have one name of each."""
    for first, *others in (sent_names(name, field) for name, field in model.model_fields.items()):
        for other in others:
            said, either = f"Another name of `{first}`", Schema(**{"not": {"required": [first, other]}})
            if first in schema["required"]:
                schema["required"].remove(first)
                said, either = (
                    f"{said}; one of the two is needed",
                    {"oneOf": [{"required": [first]}, {"required": [other]}]},
                )
            schema["properties"][other] = {**schema["properties"][first], "description": said}
            schema.setdefault("allOf", []).append(either)


def _or_null(schema: Schema) -> Schema:
    """A schema that allows ``null`` too: as the value of an optional field, it counts as not given."""
    if "$ref" in schema:
        about = {name: value for name, value in schema.items() if name != "$ref"}
        return {"anyOf": [{"$ref": schema["$ref"]}, {"type": "null"}], **about}
    kinds = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type")]
    if None in kinds or "null" in kinds:
        return schema
    more = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, **more, "type": [*kinds, "null"]}


def schema_of(answer: Any) -> tuple[dict[str, Schema], Schema]:
    """The schemas that an answer's schema refers to, and the schema itself."""
    schema = TypeAdapter(answer).json_schema(
        mode="serialization", ref_template=f"{REF}{{model}}", schema_generator=Generator
    )
    definitions: dict[str, Schema] = {}
    definitions |= {name: _tidy(each, definitions) for name, each in schema.pop("$defs", {}).items()}
    return definitions, _tidy(schema, definitions)
