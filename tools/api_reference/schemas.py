"""JSON schemas of parameter models, events and answers.

The accepted values of a validator that is a Python function are described in ``ACCEPTED``, as JSON schema. A validator
that is not in the table ends the generator with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from headrace.analytics.requests import SERIES_STEPS
from headrace.core.keys import ID_LIMIT
from headrace.operations.dead_letter_routes import CONTINUATION_CHARACTERS
from headrace.streams.chat.rooms.memberships import EVENT_ID_LIMIT
from headrace.streams.chat.stream import TEXT_BYTES
from headrace.streams.ski.routes import RESORTS_LIMIT
from tools.api_reference.routes import Declared, plain

Schema = dict[str, Any]
REF = "#/components/schemas/"
LAST_MILLISECOND = 253_402_300_799_999

STORED_ID = {"type": "string", "minLength": 1, "maxLength": ID_LIMIT, "pattern": r"^[^#\u0000-\u001f\u007f-\u009f]+$"}
ID = STORED_ID | {"pattern": r"^(?!\.{1,2}$)[^#/?\u0000-\u001f\u007f-\u009f]+$"}
ISO = (
    r"[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,12})?)?"
    r"([Zz]|[+-][0-2][0-9]:?[0-5][0-9])"
)
TIME = {"type": ["string", "integer"], "pattern": f"^{ISO}$", "minimum": 0, "maximum": LAST_MILLISECOND}
QUERY_TIME = {"type": "string", "pattern": f"^([0-9]{{1,15}}|{ISO})$"}
DIGITS = r"^[0-9]{1,12}$"
BOUNDS = {"min_length": "minLength", "max_length": "maxLength"}
"""Pydantic's own bounds of a field whose type has a validator."""
UNCHANGED: Schema = {}
"""The validator accepts what no schema can express. The description of the field has it."""

ACCEPTED: dict[str, Schema] = {
    "core.fields._id": ID,
    "core.fields._stored_id": STORED_ID,
    "core.fields._unicode": UNCHANGED,
    "core.fields._number_or_digits": {"type": ["integer", "string"], "pattern": DIGITS},
    "core.fields._time": TIME,
    "streams.chat.stream._bounded": {"maxLength": TEXT_BYTES},
    "streams.chat.rooms.requests._event_id": {
        "minLength": 1,
        "maxLength": EVENT_ID_LIMIT,
        "pattern": r"^(?!\.{1,2}$)[ !\"$-.0->@-~]+$",
    },
    "streams.chat.rooms.requests._line": {"pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$"},
    "streams.ads.stream._ad_id": ID | {"pattern": r"^(?!\.{1,2}$)[^#/?\s\u0000-\u001f\u007f-\u009f]+$"},
    "streams.ads.stream._stored_ad_id": STORED_ID | {"pattern": r"^[^#\s\u0000-\u001f\u007f-\u009f]+$"},
    "streams.ads.stream._ad_type": {"pattern": r"^[A-Za-z0-9._-]{1,32}$"},
    "streams.ads.stream._address": UNCHANGED,
    "streams.ski.routes._split": {"minItems": 1, "maxItems": RESORTS_LIMIT},
    "analytics.requests._micros": QUERY_TIME,
    "analytics.requests._offered": {"type": "integer", "enum": list(SERIES_STEPS)},
    "analytics.requests.WindowQuery._makes_a_window": UNCHANGED,
    "api.paging.request._text": {"type": "string"},
    "api.params.query_time": TIME,
    "api.paging.request.ListRequest._is_alone": UNCHANGED,
    "api.paging.request.PageRequest._has_its_query": UNCHANGED,
    "api.paging.request.PageRequest._is_alone": UNCHANGED,
    "api.paging.request.PageRequest._follows_its_start": UNCHANGED,
    "operations.dead_letter_routes._written_flag": {"type": "boolean"},
    "operations.dead_letter_routes.read_continuation": {"type": "string", "maxLength": CONTINUATION_CHARACTERS},
    "operations.dead_letter_routes.RedriveBody._is_alone": UNCHANGED,
    "streams.chat.messages.requests._since": {"type": "string", "pattern": "^p[0-9]{16}$"},
    "streams.chat.messages.requests.RoomPageRequest._is_without_other_bounds": UNCHANGED,
}


class Generator(GenerateJsonSchema):
    """Pydantic's generator, with the schemas of validators in ``ACCEPTED``."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Schema:
        """A schema with a validator that runs before its own."""
        return {**super().function_before_schema(schema), **_accepted(schema["function"]["function"])}

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> Schema:
        """A schema with a validator that runs after its own."""
        return {**super().function_after_schema(schema), **_accepted(schema["function"]["function"])}

    def dict_schema(self, schema: core_schema.DictSchema) -> Schema:
        """An object with any names; names that the pattern does not match are refused, like those of a wrong length."""
        found = super().dict_schema(schema)
        for pattern, values in found.pop("patternProperties", {}).items():
            names = {**found.get("propertyNames", {}), "pattern": pattern}
            found |= {"propertyNames": names, "additionalProperties": values}
        return found

    def function_plain_schema(self, schema: core_schema.PlainValidatorFunctionSchema) -> Schema:
        """A validator without a schema."""
        return {**super().function_plain_schema(schema), **_accepted(schema["function"]["function"])}


def _accepted(function: Callable[..., Any]) -> Schema:
    if isinstance(function, partial) and function.func.__module__.startswith("pydantic."):
        return {BOUNDS[name]: value for name, value in function.keywords.items() if name in BOUNDS}
    if isinstance(function, partial) and "names" in function.keywords:
        return {"enum": function.keywords["names"]}
    name = f"{function.__module__}.{function.__qualname__}".removeprefix("headrace.")
    if name not in ACCEPTED:
        raise LookupError(f"describe the validator {name} in ACCEPTED of tools/api_reference/schemas.py")
    return ACCEPTED[name]


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
        self._all: dict[str, Schema] = {name: _tidy(each) for name, each in document.get("$defs", {}).items()}
        for each in routes:
            for kind, model in (("query", each.route.query), ("body", each.route.body)):
                if model is not None and not model.keeps_null:
                    _allow_null(self.resolved(each.key, kind))

    def schema(self, key: str, kind: str) -> Schema:
        """The schema of a route's model: a reference, except for plain types."""
        schema: Schema = _tidy(self._found[key, kind])
        return schema

    def resolved(self, key: str, kind: str) -> Schema:
        """The schema of a route's model itself; empty if the route has none."""
        schema = self._found.get((key, kind), {})
        if "$ref" in schema:
            return self._all[schema["$ref"].removeprefix(REF)]
        tidy: Schema = _tidy(schema)
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
    if kinds == TIME["type"]:
        return {name: value for name, value in kept.items() if name not in TIME} | QUERY_TIME
    return kept


def _tidy(node: Any) -> Any:
    """``node`` without the titles that repeat a field's name; a field that may be null has ``null`` in its type."""
    if isinstance(node, list):
        return [_tidy(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {name: _tidy(value) for name, value in node.items() if name != "title" or isinstance(value, dict)}
    if isinstance(text := kept.get("description"), str):
        kept["description"] = plain(text)
    if "default" in kept and kept["default"] is None:
        del kept["default"]
        given = [each for each in kept.get("anyOf", []) if each != {"type": "null"}]
        if len(given) == 1:
            del kept["anyOf"]
            kept = {**_or_null(given[0]), **kept}
    return kept


def _allow_null(model: Schema) -> None:
    properties = model.get("properties", {})
    for name in properties.keys() - set(model.get("required", [])):
        properties[name] = _or_null(properties[name])


def _or_null(schema: Schema) -> Schema:
    """A schema that allows ``null`` too: as the value of an optional field, it counts as not given."""
    kinds = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type")]
    if None in kinds or "null" in kinds:
        return schema
    more = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, **more, "type": [*kinds, "null"]}


def schema_of(answer: type[Any]) -> tuple[dict[str, Schema], Schema]:
    """The schemas that an answer's schema refers to, and the schema itself."""
    schema = TypeAdapter(answer).json_schema(
        mode="serialization", ref_template=f"{REF}{{model}}", schema_generator=Generator
    )
    definitions = {name: _tidy(each) for name, each in schema.pop("$defs", {}).items()}
    return definitions, _tidy(schema)
