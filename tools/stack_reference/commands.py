"""The page of commands, from the help texts of the Makefile."""

from __future__ import annotations

import re

from tools.stack_reference.markdown import ROOT, bullet, rendered, sentence

GROUP = re.compile(r"^##@ (.*)\n", re.M)
RULE = re.compile(r"^([a-z0-9-]+):.*?## (.*?)((?: *\[.*\])?)$", re.M)


def render() -> str:
    """The page."""
    _, *groups = GROUP.split((ROOT / "Makefile").read_text())
    parts: list[str] = []
    for title, rules in zip(groups[::2], groups[1::2], strict=True):
        parts += [f"## {title}", "\n".join(_item(*rule) for rule in RULE.findall(rules))]
    return rendered("commands", blocks=parts)


def _item(target: str, text: str, variables: str) -> str:
    command = " ".join(f"make {target} {variables}".split())
    return bullet(f"`{command}`: {sentence(text)}")
