"""Markdown helpers for the generated pages."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from localstage.template.document import parse

ROOT = Path(__file__).parents[2]
KEPT = ("<!--", "#", "|", "- ")
"""How blocks of a page begin whose lines stay as they are."""
WIDTH = 120


def template(name: str = "template.yaml") -> dict[str, Any]:
    """A template of the project, without evaluation."""
    return parse((ROOT / name).read_text(), ROOT / name)


def rendered(name: str, **values: Any) -> str:
    """The page from its template, with each paragraph in lines of at most 120 characters."""
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    environment = Environment(loader=folder, undefined=StrictUndefined)  # noqa: S701 - Markdown, not HTML
    environment.globals["dollars"] = "${:,.0f}".format
    page = environment.get_template(f"{name}.md.jinja").render(**values)
    blocks = page.split("\n\n")
    return "\n\n".join(each if each.startswith(KEPT) else paragraph(each) for each in blocks) + "\n"


def paragraph(text: str) -> str:
    """``text`` in lines of at most 120 characters, with the code of docstrings as Markdown's."""
    return textwrap.fill(markdown(text), WIDTH, break_long_words=False, break_on_hyphens=False)


def bullet(text: str) -> str:
    """One item of a list."""
    return textwrap.fill(
        text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; empty columns are left out."""
    filled = [number for number in range(len(header)) if number == 0 or any(row[number] for row in rows)]
    lines = [[line[number] for number in filled] for line in (header, ["---"] * len(header), *rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown(text: str) -> str:
    """The text of a docstring or template as Markdown in one line."""
    return re.sub(r"\s+", " ", re.sub(r"``([^`]+)``", r"`\1`", text)).strip()


def sentence(text: str) -> str:
    """``text`` as a sentence: a capital first and a full stop last."""
    text = markdown(text)
    capital = text[:1].upper() if text.split()[0].isalpha() else text[:1]
    return capital + text[1:] + ("" if text.endswith((".", ":", "?")) else ".")


def code(value: object) -> str:
    """``value`` as code; an empty one is named."""
    return f"`{value}`" if str(value) != "" else "empty"
