"""The check of the prose finds words to avoid in prose, and not in code."""

import pytest

from tools.prose import PAGES, ROOT, avoided, files, long_sentences, page_prose, python_prose

AVOIDED = "nobody"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (f"x = 1  # {AVOIDED} reads it", [1]),
        (f'"""A docstring\n\nthat {AVOIDED} reads."""', [3]),
        ("# it works by\n# itself", [1]),
        (f'raise ValueError(f"{AVOIDED} sent {{x}}")', [1]),
        (f'user = "{AVOIDED}"', []),
        (f"{AVOIDED} = 1", []),
    ],
)
def test_words_to_avoid_are_found_in_comments_docstrings_and_messages(source: str, lines: list[int]) -> None:
    assert [line for line, _ in avoided(python_prose(source))] == lines


def test_long_sentences_of_a_page_are_found_outside_its_code() -> None:
    long = "word " * 41
    page = f"Short.\n\n```\n{long}\n```\n\n- Short. {long}\n"

    assert [line for line, _ in long_sentences(page_prose(page))] == [7]


def test_the_texts_of_the_reference_are_checked_as_a_page() -> None:
    assert ROOT / "tools" / "api_reference" / "texts.md" in files(PAGES)
