"""Texts of other people, made safe for a terminal."""

from __future__ import annotations


def visible(text: str) -> str:
    """``text`` with control characters replaced by visible symbols."""
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char == "\n":
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    # C1 controls, and the marks that change the direction of text.
    if 0x80 <= code < 0xA0 or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return "\N{REPLACEMENT CHARACTER}"
    return char
