"""Refuses references to unknown names in every resource, also in those that a stage does not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from localstage.core.errors import TemplateError
from localstage.template.intrinsics import SUB


def check(node: Any, known: Callable[[str], bool], where: str) -> None:
    """Look at each Ref, GetAtt and Sub in ``node``.

    Raises:
        TemplateError: one that names neither a parameter nor a resource; names the place.
    """
    if isinstance(node, list):
        for index, item in enumerate(node):
            check(item, known, f"{where}[{index}]")
    elif isinstance(node, dict):
        for key, item in node.items():
            if key == "Ref" and len(node) == 1:
                _check_name(item, known, where)
            elif key == "Fn::GetAtt":
                _check_name(item[0] if isinstance(item, list) and item else str(item).split(".")[0], known, where)
            elif key == "Fn::Sub":
                _check_sub(item, known, where)
            else:
                check(item, known, where if str(key).startswith("Fn::") else f"{where}.{key}")


def _check_sub(argument: Any, known: Callable[[str], bool], where: str) -> None:
    text, own = argument, {}
    if isinstance(argument, list) and len(argument) == 2 and isinstance(argument[1], dict):
        text, own = argument
    for name in SUB.findall(text) if isinstance(text, str) else []:
        if not name.startswith("!") and name not in own:
            _check_name(name.strip().split(".")[0], known, where)
    check(list(own.values()), known, where)


def _check_name(name: Any, known: Callable[[str], bool], where: str) -> None:
    if not isinstance(name, str) or not known(name):
        raise TemplateError(f'{where}: "{name}" is neither a parameter nor a resource of the template')
