"""Markdown as HTML, with an id on every heading so that links lead to it."""

from __future__ import annotations

import re
from itertools import pairwise

from markdown_it import MarkdownIt


def html(text: str) -> str:
    """The HTML of a page; HTML within the Markdown is shown as text, and comments are left out."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(re.sub(r"<!--.*?-->", "", text, flags=re.S))
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", re.sub(r"[^\w -]", "", inline.content.lower()).replace(" ", "-"))
    return str(markdown.renderer.render(tokens, markdown.options, {}))
