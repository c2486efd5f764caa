"""Texts of other people, made safe for a terminal."""

from __future__ import annotations

import re

# Control characters but the end of a line, and the marks that change the direction of text.
_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """``text`` with control characters replaced by a visible symbol."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)
