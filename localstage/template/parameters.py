"""Template parameters: defaults, then samconfig.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localstage.core.errors import TemplateError


def from_samconfig(path: Path, config_env: str) -> dict[str, str]:
    """The parameter overrides of ``config_env`` in a samconfig.toml; none if there is no such file or table.

    Raises:
        TemplateError: not TOML, overrides that are not a table, or a file without ``config_env``.
    """
    config = _config(path)
    stages = [name for name, value in config.items() if isinstance(value, dict)]
    if config and config_env not in stages:
        has = ", ".join(stages) or "none"
        raise TemplateError(f"{path.name} has no stage {config_env!r} (STAGE_ENV or --config-env); it has {has}")
    found: Any = {}
    for command in ("global", "deploy"):
        given = config.get(config_env, {}).get(command, {}).get("parameters", {}).get("parameter_overrides")
        found = found if given is None else given  # the SAM CLI does not merge them
    if not isinstance(found, dict):  # of SAM's forms only the table is read, which needs no quotes
        raise TemplateError(f"{path} [{config_env}]: parameter_overrides must be a table of names and values")
    return {name: _text(item) for name, item in found.items()}


def _config(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TemplateError(f"{path}: {error}") from None


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(_text(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_names(declared: Mapping[str, Any], overrides: Mapping[str, str], where: str) -> None:
    """Refuse an override of a parameter that the template does not declare, as CloudFormation does."""
    for name in overrides:
        if name not in declared:
            known = ", ".join(sorted(declared)) or "none"
            raise TemplateError(f"{where}: the template has no parameter {name} (it has: {known})")


def values(declared: Mapping[str, Any], overrides: Mapping[str, str]) -> dict[str, Any]:
    """Each parameter's value: text, or a list of texts for the list types.

    Raises:
        TemplateError: no value and no default, or a value that the declaration does not allow.
    """
    return {name: _value(name, spec or {}, overrides) for name, spec in declared.items()}


def _value(name: str, spec: Mapping[str, Any], overrides: Mapping[str, str]) -> Any:
    if name in overrides:
        text = overrides[name]
    elif "Default" in spec:
        text = _text(spec["Default"])
    else:
        raise TemplateError(f"Parameters.{name} has no value: give it one in samconfig.toml, [local.deploy.parameters]")
    kind = str(spec.get("Type", "String"))
    listed = kind == "CommaDelimitedList"
    items = [item.strip() for item in text.split(",")] if listed else [text]
    for item in items:
        _check(name, spec, kind, item)
    return items if listed else text


def _check(name: str, spec: Mapping[str, Any], kind: str, item: str) -> None:
    def refuse(want: str) -> None:
        allowed = spec.get("ConstraintDescription")
        raise TemplateError(f'Parameters.{name}: got "{item}", {f"allowed: {allowed}" if allowed else want}')

    if allowed := [_text(one) for one in spec.get("AllowedValues", [])]:
        if item not in allowed:
            refuse(f"must be one of {', '.join(allowed)}")
        return
    if (pattern := spec.get("AllowedPattern")) and not re.fullmatch(str(pattern), item):
        refuse(f"must match {pattern}")
    if kind == "Number":
        if not re.fullmatch("-?[0-9]+", item):
            refuse("must be a whole number")
        if not int(spec.get("MinValue", item)) <= int(item) <= int(spec.get("MaxValue", item)):
            refuse(f"must be from {spec.get('MinValue', 'any')} to {spec.get('MaxValue', 'any')}")
