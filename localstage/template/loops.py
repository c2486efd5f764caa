"""Expands ``Fn::ForEach`` among the resources, as CloudFormation's transform AWS::LanguageExtensions does first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localstage.core.errors import TemplateError
from localstage.template import parameters

_LOOP = "Fn::ForEach::"


def expand_loops(document: dict[str, Any], overrides: Mapping[str, str]) -> None:
    """Replace each loop of ``document`` by the resources that it makes with these parameters.

    The loop's identifier is filled into the names of the resources and all that they contain. A body can have loops.

    Raises:
        TemplateError: a loop's collection is neither a list nor a value of Mappings.
    """
    document["Resources"] = _expanded(document["Resources"], document, overrides)


def _expanded(found: Mapping[str, Any], document: Mapping[str, Any], overrides: Mapping[str, str]) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    for name, resource in found.items():
        if not name.startswith(_LOOP):
            resources[name] = resource
            continue
        try:
            identifier, collection, fragment = resource
            for item in _items(collection, document, overrides):
                resources |= _expanded(_filled(fragment, identifier, item), document, overrides)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise TemplateError(f"{name} must have an identifier, a list or a value of Mappings, and a body") from None
    return resources


def _items(collection: Any, document: Mapping[str, Any], overrides: Mapping[str, str]) -> list[str]:
    """The values that a loop goes through."""
    if isinstance(collection, dict):
        name, first, second = collection["Fn::FindInMap"]
        declared = document["Parameters"][first["Ref"]]
        key = parameters.values({first["Ref"]: declared}, overrides)[first["Ref"]]
        collection = document["Mappings"][name][key][second]
    return [str(item) for item in collection]


def _filled(node: Any, identifier: str, item: str) -> Any:
    """``node`` with the value of the loop's identifier."""
    match node:
        case {"Ref": name} if name == identifier:
            return item
        case str():
            return node.replace(f"${{{identifier}}}", item)
        case dict():
            return {_filled(key, identifier, item): _filled(value, identifier, item) for key, value in node.items()}
        case list():
            return [_filled(value, identifier, item) for value in node]
    return node
