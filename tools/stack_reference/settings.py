"""The page of environment variables, from the settings of the layer and the template."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

import headrace
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


def _models() -> list[type[Settings]]:
    """The settings that the modules of the layer declare, those of several packages first."""
    layer = Path(headrace.__file__).parents[1]
    paths = [path for path in sorted(layer.rglob("*.py")) if re.search(r"^class .*Settings\):", path.read_text(), re.M)]
    names = [".".join(path.relative_to(layer).with_suffix("").parts) for path in paths]
    names.sort(key=lambda name: name != settings.__name__)
    classes = [value for name in names for value in vars(import_module(name)).values() if inspect.isclass(value)]
    return [each for each in dict.fromkeys(classes) if issubclass(each, Settings) and each is not Settings]


def _docstrings(model: type[Settings]) -> dict[str, str]:
    """The docstring after each field of a model, by field."""
    (node,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(node, ast.ClassDef)
    return {
        field.target.id: ast.literal_eval(text.value)
        for field, text in pairwise(node.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr)
    }


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
    in_template, meanings, seen = _in_template(), dict[str, str](), set()
    blocks = list[str]()
    for model in _models():
        meanings |= _docstrings(model)
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
