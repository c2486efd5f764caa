"""Reads template files: YAML with CloudFormation's short tags (``!Ref``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from samtranslator.yaml_helper import intrinsics_multi_constructor

from localstage.core.errors import TemplateError
from localstage.template.loops import expand_loops


class _Loader(yaml.CSafeLoader):
    """Reads with libyaml, several times faster than the translator's own loader."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


def parse(text: str, path: Path, overrides: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The template in ``text``, with short tags in their long form and without loops.

    ``overrides`` are values of parameters; the others have their defaults.

    Raises:
        TemplateError: not YAML, or not a template; names the line or the resource.
    """
    try:
        document = yaml.load(text, _Loader)  # noqa: S506 it is a safe loader
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise TemplateError(f"{path}{line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise TemplateError(f"{path}: {str(error).splitlines()[0]}") from None
    if not isinstance(document, dict) or not document.get("Resources") or not isinstance(document["Resources"], dict):
        raise TemplateError(f"{path}: not a template, it has no Resources")
    expand_loops(document, overrides or {})
    for logical_id, resource in document["Resources"].items():
        if not isinstance(resource, dict) or not isinstance(resource.get("Type"), str):
            raise TemplateError(f"{path}: {logical_id} has no Type")
    return document
