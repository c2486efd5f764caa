"""Values that people see can be seen, and those that look alike are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core import keys, texts

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
NEWER_EMOJI = "\U0001fae9"
"""Of Unicode 16, which Python 3.11 does not know."""


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("e\u0301", "\u00e9"),
        (" Kitchen \u200b", "Kitchen"),
        ("\ufeffbob\u2060", "bob"),
        *((each, each) for each in ("❤️", "👍🏽", "👩‍👩‍👧", "1️⃣", FLAG, NEWER_EMOJI, "نمی‌خواهم", "__proto__", "a b")),
        ("👍\u200d", "👍"),
    ],
)
def test_a_value_is_composed_and_has_nothing_unseen_around_it(sent: str, stored: str) -> None:
    assert texts.visible(sent, 32) == texts.without_controls(sent) == stored


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "is empty"),
        *((each, "is blank") for each in (" \u3000", "\u200b\u200d", "\u3164", "\u2800", "\ufe0f", "\u00ad", "\ufff9")),
        *((f"a{each}b", "contains a control character") for each in "\n\x00\x85\u2028\ud800"),
        *((f"{each}ecilA", "contains a control of the direction of writing") for each in "\u202a\u202e\u2066\u2069"),
        ("x" * 33, "is longer than 32 characters"),
        ("a#b", "contains '#'"),
        ("..", r"is '\.\.'"),
    ],
)
def test_what_cannot_be_seen_is_refused_with_the_reason(value: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        texts.visible(value, 32, "#/")


@given(st.text(max_size=40))
def test_a_visible_value_stays_as_it_is(value: str) -> None:
    try:
        found = texts.visible(value, 40)
    except ValueError:
        return
    assert texts.visible(found, 40) == texts.without_controls(found) == found


def test_an_emoji_is_like_itself_with_a_selector() -> None:
    assert texts.alike("❤️") == texts.alike("❤") != texts.alike("♡")


@pytest.mark.parametrize("value", [" a", "a\u200b", "\u202ea", "\u200b"])
def test_an_id_that_was_stored_is_known_and_no_new_one(value: str) -> None:
    assert keys.path_id(value) == keys.normalize_id(value) == value
    assert keys.flaw_of(value)
