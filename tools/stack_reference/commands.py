"""The page of commands, from the help texts of the Makefile."""

from __future__ import annotations

import re

from tools.stack_reference.markdown import ROOT, bullet, page, paragraph, sentence

INTRO = """
Every command of the project is a target of `make`, for example `make demo MESSAGES=10000`. `make help` prints this
list. Variables in brackets are optional. Each command first makes `.venv` from the lock files if that is missing.
"""
GROUP = re.compile(r"^##@ (.*)\n", re.M)
RULE = re.compile(r"^([a-z0-9-]+):.*?## (.*?)((?: *\[.*\])?)$", re.M)


def render() -> str:
    """The page."""
    _, *groups = GROUP.split((ROOT / "Makefile").read_text())
    parts = [paragraph(INTRO)]
    for title, rules in zip(groups[::2], groups[1::2], strict=True):
        parts += [f"## {title}", "\n".join(_item(*rule) for rule in RULE.findall(rules))]
    return page("Commands", "the Makefile", *parts)


def _item(target: str, text: str, variables: str) -> str:
    command = " ".join(f"make {target} {variables}".split())
    return bullet(f"`{command}`: {sentence(text)}")
