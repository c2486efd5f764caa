"""The page of commands, from the help texts of the Makefile."""

from __future__ import annotations

import re

from tools.stack_reference.markdown import ROOT, bullet, page, paragraph, sentence

INTRO = """
Every command of the project is a target of `make`, for example `make demo MESSAGES=10000`. `make` alone prints this
list. Variables in brackets are optional. Each command first makes `.venv` from the lock files if that is missing.
"""
RULE = re.compile(r"^([a-z0-9-]+):.*?## (.*?)((?: *\[.*\])?)$", re.M)


def render() -> str:
    """The page."""
    items = []
    for target, text, variables in RULE.findall((ROOT / "Makefile").read_text()):
        command = " ".join(f"make {target} {variables}".split())
        items.append(bullet(f"`{command}`: {sentence(text)}"))
    return page("Commands", "the Makefile", paragraph(INTRO), "\n".join(items))
