"""Reads template files: YAML with CloudFormation's short tags (``!Ref``), or JSON, which is YAML too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from localstage.core.errors import TemplateError


class _Loader(yaml.SafeLoader):
    """Builds plain dicts and lists; a short tag becomes its long form, ``{"Fn::Sub": …}``."""


# Dates must stay text: "AWSTemplateFormatVersion: 2010-09-09" and policy versions are compared as strings.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        # In YAML the last of several equal keys wins silently.
        if isinstance(key, str) and key in seen and key != "<<":
            raise yaml.constructor.ConstructorError(None, None, f'"{key}" is declared twice', key_node.start_mark)
        seen.add(key if isinstance(key, str) else id(key_node))
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


def _construct_tag(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        if suffix == "GetAtt":
            value = value.split(".", 1)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = _construct_mapping(loader, node)
    return {name: value}


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
_Loader.add_multi_constructor("!", _construct_tag)


def parse(text: str, path: Path) -> dict[str, Any]:
    """The template in ``text``, with short tags in their long form.

    Raises:
        TemplateError: not YAML, a key twice, or not a template; names the line.
    """
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader with CloudFormation's tags
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}" if mark else ""
        raise TemplateError(f"{path}{where}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise TemplateError(f"{path}: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("Resources"), dict) or not document["Resources"]:
        raise TemplateError(f"{path}: not a template, it has no Resources")
    for logical_id, resource in document["Resources"].items():
        if not isinstance(resource, dict) or not isinstance(resource.get("Type"), str):
            raise TemplateError(f"{path}: {logical_id} has no Type")
        if not isinstance(resource.get("Properties") or {}, dict):
            raise TemplateError(f"{path}: {logical_id}.Properties must be a mapping")
    return document
