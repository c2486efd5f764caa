"""Reads template files: YAML with CloudFormation's short tags (``!Ref``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from samtranslator.yaml_helper import yaml_parse

from localstage.core.errors import TemplateError


def parse(text: str, path: Path) -> dict[str, Any]:
    """The template in ``text``, with short tags in their long form.

    Raises:
        TemplateError: not YAML, or not a template; names the line.
    """
    try:
        document = yaml_parse(text)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise TemplateError(f"{path}{line}: {error.problem}") from None
    if not isinstance(document, dict) or not document.get("Resources"):
        raise TemplateError(f"{path}: not a template, it has no Resources")
    return document
