"""What people see of ids, names, topics, usernames, names of files and reactions: what looks alike, and what is empty.

    visible("e\u0301 ", 128)         # "é": composed, and without the space behind it
    visible("\u202eecilA", 128)      # ValueError: contains a control of the direction of writing
    alike("❤️") == alike("❤")        # with and without U+FE0F

Sources: Unicode Standard Annex 15 (NFC), Annex 9 (directions), and Technical Standard 51 (emoji presentation).
"""

from __future__ import annotations

import unicodedata

FORM = "not blank, without control characters and controls of the direction of writing"
PATTERN = r"\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069"
"""The characters that no visible text has, as in a class of a regular expression."""
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They change the line that a value is shown in, and the ending that the name of a file seems to have."""
_CONTROLS = frozenset(("Cc", "Cs", "Zl", "Zp"))
_EMPTY = frozenset(
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u200e\u200f\u2065\u2800\u3164\uffa0\ufff9\ufffa\ufffb\U00016fe4\U0001d159"
)
"""Letters, symbols and marks without a glyph."""


def composed(value: str, most: int) -> str:
    """``value`` in NFC. Raises ValueError: it has more than ``most`` characters."""
    # NFC shrinks what it composes at most fourfold: much longer values need no composing.
    if not value.isascii() and len(value) <= 4 * most:
        value = unicodedata.normalize("NFC", value)
    if len(value) > most:
        raise ValueError(f"is longer than {most} characters")
    return value


def visible(value: str, most: int, without: str = "") -> str:
    """``value`` in NFC without spaces and invisible characters around it: 1 to ``most`` characters, none ``without``.

    Raises:
        ValueError: one sentence that says what is wrong.
    """
    value = composed(value, most)
    if not (value.isascii() and value.isprintable()):
        if any(unicodedata.category(each) in _CONTROLS for each in value):
            raise ValueError("contains a control character")
        if not _DIRECTIONS.isdisjoint(value):
            raise ValueError("contains a control of the direction of writing")
    shown = _trimmed(value)
    if not shown:
        raise ValueError("is blank" if value else "is empty")
    if found := next((each for each in without if each in shown), None):
        raise ValueError(f"contains '{found}'")
    if "/" in without and shown in (".", ".."):
        raise ValueError(f"is '{shown}'")
    return shown


def without_controls(value: str) -> str:
    """``value`` in NFC without what no visible text has, for names that others give; it may be empty."""
    if value.isascii() and value.isprintable():
        return value.strip(" ")
    kept = (each for each in value if unicodedata.category(each) not in _CONTROLS and each not in _DIRECTIONS)
    return _trimmed(unicodedata.normalize("NFC", "".join(kept)))


def alike(value: str) -> str:
    """What values that look the same have in common: keyboards differ in whether U+FE0F follows an emoji."""
    return value.replace("\ufe0f", "")


def _trimmed(value: str) -> str:
    if value.isascii():
        return value.strip(" ")
    start, end = 0, len(value)
    while start < end and _is_unseen(value[start]):
        start += 1
    while end > start and _is_unseen(value[end - 1]) and not _belongs_to_emoji(value[end - 1]):
        end -= 1
    return value[start:end]


def _is_unseen(character: str) -> bool:
    is_space = unicodedata.category(character) == "Zs" or unicodedata.bidirectional(character) == "BN"
    return is_space or character in _EMPTY or _belongs_to_emoji(character)


def _belongs_to_emoji(character: str) -> bool:
    """Whether ``character`` can end an emoji: a variation selector, or the last tag of a flag."""
    return character == "\U000e007f" or "VARIATION SELECTOR" in unicodedata.name(character, "")
