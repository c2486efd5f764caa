"""The page of the template's parameters and the value of each stage, from template.yaml and samconfig.toml."""

from __future__ import annotations

from typing import Any

from localstage.template.parameters import from_samconfig
from tools.stack_reference.markdown import ROOT, code, rendered, sentence, template

STAGES = ("dev", "staging", "prod", "local")


def _accepted(parameter: dict[str, Any]) -> str:
    if "AllowedValues" in parameter:
        return ", ".join(code(value) for value in parameter["AllowedValues"])
    if "ConstraintDescription" in parameter:
        return str(parameter["ConstraintDescription"])
    low, high = parameter.get("MinValue"), parameter.get("MaxValue")
    if low is not None:
        return f"{low} to {high}" if high is not None else f"at least {low}"
    return ""


def render() -> str:
    """The page."""
    stages, blocks = {name: from_samconfig(ROOT / "samconfig.toml", name) for name in STAGES}, list[str]()
    for name, parameter in template()["Parameters"].items():
        default = str(parameter["Default"])
        given = {stage: values.get(name, default) for stage, values in stages.items()}
        set_to = [f"{stage} {code(value)}" for stage, value in given.items() if str(value) != default]
        said = f"{sentence(parameter['Description'])} {', '.join([f'Default {code(default)}', *set_to])}."
        if accepted := _accepted(parameter):
            said += f" Accepted: {accepted}."
        blocks.append(f"## `{name}`\n\n{said}")
    return rendered("parameters", blocks=blocks)
