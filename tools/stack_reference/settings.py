"""The page of environment variables, from runtime/settings.py and the template."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pydantic.fields import FieldInfo

from headrace.runtime import settings
from headrace.runtime.setting_forms import Settings, accepted_form
from headrace.stage.registry import STREAMS
from tools.stack_reference.markdown import bullet, code, markdown, rendered, sentence, template

LIBRARIES = {
    "AWS_ENDPOINT_URL_DYNAMODB": "Endpoint that boto3 calls DynamoDB at; empty for AWS.",
    "AWS_ENDPOINT_URL_SQS": "Endpoint that boto3 calls SQS at; empty for AWS.",
    "AWS_ENDPOINT_URL_S3": "Endpoint that boto3 calls S3 at, and that links lead to; empty for AWS.",
    "AWS_ENDPOINT_URL_SECRETS_MANAGER": "Endpoint that boto3 calls Secrets Manager at; empty for AWS.",
    "AWS_ENDPOINT_URL_EVENTBRIDGE": "Endpoint that boto3 calls EventBridge at; empty for AWS.",
    "PYDANTIC_DISABLE_PLUGINS": "Plugins that pydantic does not look for, which would delay cold starts.",
}
"""The variables of the template that libraries read."""


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


def _in_template() -> set[str]:
    """The variables that the template sets, for all functions or for some."""
    document = template()
    functions = [
        one["Properties"] for one in document["Resources"].values() if one["Type"] == "AWS::Serverless::Function"
    ]
    places = [document["Globals"]["Function"], *functions]
    return {name for place in places for name in place.get("Environment", {}).get("Variables", {})}


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return code(str(value).lower())
    return code("" if value == () else value)


def _item(name: str, field: FieldInfo, meaning: str, *, is_set: bool) -> str:
    facts = [markdown(accepted_form(field))]
    facts += [] if field.is_required() else [f"default {_default(field.default)}"]
    facts += [] if is_set else ["not in the template"]
    return bullet(f"`{name}`: {sentence(meaning).rstrip('.')} ({'; '.join(facts)}).")


def render() -> str:
    """The page."""
    in_template, meanings, seen = _in_template(), _docstrings(), set()
    blocks = list[str]()
    for model in sorted(_models(), key=lambda model: inspect.getsourcelines(model)[1]):
        items = []
        for name, field in model.model_fields.items():
            for variable, stream in _variables(name.upper()):
                if variable not in seen:
                    meaning = meanings[name].format(stream=stream)
                    items.append(_item(variable, field, meaning, is_set=variable in in_template))
                seen.add(variable)
        if items:
            title = re.sub(r"(?<!^)(?=[A-Z])", " ", model.__name__.strip("_").removesuffix("Settings")).capitalize()
            blocks += [f"## {title}", "\n".join(items)]
    unknown = in_template - seen - LIBRARIES.keys()
    assert not unknown, f"no settings and no library read {unknown}"
    blocks += ["## Read by libraries", "\n".join(bullet(f"`{name}`: {meaning}") for name, meaning in LIBRARIES.items())]
    return rendered("settings", blocks=blocks)


def _variables(alias: str) -> list[tuple[str, str]]:
    """The variables of a field with their streams: each stream has its own table and retention."""
    settings_of = {"TABLE": "table_setting", "RETENTION_DAYS": "retention_setting"}
    if alias not in settings_of:
        return [(alias, "")]
    named = ((getattr(stream, settings_of[alias]), name) for name, stream in STREAMS.items())
    return [(variable, name) for variable, name in named if variable]
