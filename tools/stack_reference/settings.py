"""The page of environment variables, from runtime/settings.py and the template."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_origin

from pydantic.fields import FieldInfo

from headrace.runtime import settings
from headrace.runtime.settings import Settings, accepted_form
from headrace.streams.registry import STREAMS
from tools.stack_reference.markdown import bullets, code, markdown, page, paragraph, sentence, template

UNITS = {"SECONDS": "seconds", "DAYS": "days", "PERCENT": "percent", "EVENT_RATE": "events per second"}
"""By the end of a variable's name."""
TYPES = {int: "integer", float: "number", bool: "boolean", str: "text", Literal: "text", tuple: "comma list"}
"""By the annotation of a setting, without its parameters."""
LIBRARIES = {
    "AWS_ENDPOINT_URL_DYNAMODB": "Endpoint that boto3 calls DynamoDB at; empty for AWS.",
    "AWS_ENDPOINT_URL_SQS": "Endpoint that boto3 calls SQS at; empty for AWS.",
    "AWS_ENDPOINT_URL_SECRETS_MANAGER": "Endpoint that boto3 calls Secrets Manager at; empty for AWS.",
    "PYDANTIC_DISABLE_PLUGINS": "Plugins that pydantic does not look for, which would delay cold starts.",
}
"""The variables of the template that libraries read."""
INTRO = """
Every function reads its settings from environment variables when it starts. For example, `EVENT_RATE=50` refuses what
a user sends above 50 events per second. `template.yaml` sets the variables: those of `Globals` for all functions,
the others per function. A variable that is missing or invalid makes the function answer every request with an error and
log a `ConfigurationError` that names the variable and its accepted form. An empty variable counts as missing.
"""


def _models() -> Iterator[type[Settings]]:
    for _, model in inspect.getmembers(settings, inspect.isclass):
        if issubclass(model, Settings) and model is not Settings:
            yield model


def _docstrings() -> dict[str, str]:
    """The docstring after each field, by field."""
    found = {}
    for node in ast.parse(inspect.getsource(settings)).body:
        body = node.body if isinstance(node, ast.ClassDef) else []
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
                found[field.target.id] = ast.literal_eval(text.value)
    return found


def in_template() -> dict[str, dict[str, Any]]:
    """By variable and function (``*`` for all) the value in the template."""
    document = template()
    found: dict[str, dict[str, Any]] = {}
    places = {"*": document["Globals"]["Function"]} | {
        Path(resource["Properties"]["CodeUri"]).name: resource["Properties"]
        for resource in document["Resources"].values()
        if resource["Type"] == "AWS::Serverless::Function"
    }
    for function, properties in places.items():
        for name, value in properties.get("Environment", {}).get("Variables", {}).items():
            found.setdefault(name, {})[function] = value
    return found


def _value(value: Any) -> str:
    """A constant, or the parameters and resources that the value is made of."""
    parameters = template()["Parameters"]
    if not isinstance(value, dict):
        return code(value)
    names = [name for name in _targets(value) if not name.startswith("AWS::")]
    links = {name: f"[`{name}`](parameters.md#{name.lower()})" for name in parameters}
    found = [links.get(name, f"`{name}` of the stack") for name in names]
    return " or ".join(dict.fromkeys(found)) or "the stack's name"


def _targets(value: Any) -> Iterator[str]:
    """The logical ids that a value of the template refers to."""
    if isinstance(value, list):
        yield from (name for each in value for name in _targets(each))
    elif isinstance(value, dict):
        for function, given in value.items():
            if function == "Ref":
                yield given
            elif function == "Fn::GetAtt":
                yield given[0]
            elif function == "Fn::Sub":
                yield from re.findall(r"\$\{([\w:]+)", given)
            else:
                yield from _targets(given)


def _set_to(values: dict[str, Any]) -> str:
    functions: dict[str, list[str]] = {}
    for function, value in values.items():
        functions.setdefault(_value(value), []).append("all functions" if function == "*" else f"`{function}`")
    return "; ".join(f"{value} for {', '.join(sorted(where))}" for value, where in functions.items())


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return code(str(value).lower())
    return code("" if value == () else value)


def _item(name: str, field: FieldInfo, meaning: str, values: dict[str, Any]) -> str:
    unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
    default = "none, it is required" if field.is_required() else _default(field.default)
    facts = [
        ("Type", TYPES[get_origin(field.annotation) or field.annotation]),
        ("Unit", unit),
        ("Accepted", markdown(accepted_form(field))),
        ("Default", default),
        ("In the template", _set_to(values) if values else "not set"),
    ]
    return f"### `{name}`\n\n{paragraph(sentence(meaning))}\n\n{bullets(facts)}"


def render() -> str:
    """The page."""
    values, meanings, seen = in_template(), _docstrings(), set()
    blocks = [paragraph(INTRO)]
    for model in sorted(_models(), key=lambda model: inspect.getsourcelines(model)[1]):
        items = []
        for name, field in model.model_fields.items():
            for variable, stream in _variables(name.upper()):
                if variable not in seen:
                    meaning = meanings[name].format(stream=stream)
                    items.append(_item(variable, field, meaning, values.get(variable, {})))
                seen.add(variable)
        if items:
            title = re.sub(r"(?<!^)(?=[A-Z])", " ", model.__name__.strip("_").removesuffix("Settings")).capitalize()
            blocks += [f"## {title}", paragraph(model.__doc__ or ""), *items]
    unknown = values.keys() - seen - LIBRARIES.keys()
    assert not unknown, f"no settings and no library read {unknown}"
    blocks += ["## Read by libraries"]
    for name, meaning in LIBRARIES.items():
        blocks.append(f"### `{name}`\n\n{meaning}\n\n{bullets([('In the template', _set_to(values[name]))])}")
    return page("Settings", "runtime/settings.py and template.yaml", *blocks)


def _variables(alias: str) -> list[tuple[str, str]]:
    """The variables of a field with their streams: each stream has its own table and retention."""
    settings_of = {"TABLE": "table_setting", "RETENTION_DAYS": "retention_setting"}
    if alias not in settings_of:
        return [(alias, "")]
    named = ((getattr(stream, settings_of[alias]), name) for name, stream in STREAMS.items())
    return [(variable, name) for variable, name in named if variable]
