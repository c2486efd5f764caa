"""The edits and deletions of a scenario are compared exactly."""

from __future__ import annotations

from typing import Any

import pytest

from faults.harness.edits import Texts

EDITED = {"key": "edited", "message": "hello", "editedAt": "3"}
VERSIONS = [
    {"timestamp": "1", "message": "helo"},
    {"timestamp": "2", "message": "hallo"},
    {"timestamp": "3", "message": "hello"},
]
DELETED = {"key": "deleted", "message": "", "deletedAt": "5"}


@pytest.fixture
def texts() -> Texts:
    """One message was edited twice, the later edit was accepted first; one was edited and deleted."""
    texts = Texts()
    for key, timestamp, text in (
        ("edited", "3", "hello"),
        ("edited", "2", "hallo"),
        ("deleted", "4", "a secret"),
        ("deleted", "5", None),
    ):
        texts.add(key, timestamp, text)
    return texts


def test_the_last_accepted_edit_or_the_deletion_is_expected(texts: Texts) -> None:
    untouched = {"key": "untouched", "message": "hi"}

    assert (texts.accepted, list(texts.deleted)) == (4, ["deleted"])
    assert texts.problem(EDITED, VERSIONS) == ""
    assert texts.problem(DELETED, []) == ""
    assert texts.problem(untouched, []) == texts.problem(untouched, [{"timestamp": "0", "message": "hi"}]) == ""


@pytest.mark.parametrize(
    ("item", "versions", "problem"),
    [
        ({**EDITED, "message": "hallo"}, VERSIONS, "shows"),
        ({**EDITED, "editedAt": "2"}, VERSIONS, "shows"),
        ({**EDITED, "deletedAt": "5"}, VERSIONS, "shows"),
        (EDITED, VERSIONS[1:], "has the texts"),
        (EDITED, VERSIONS[:2], "has the texts"),
        ({**DELETED, "message": "a secret"}, [], "shows"),
        ({"key": "deleted", "message": "a secret", "editedAt": "4"}, [], "shows"),
        (DELETED, [{"timestamp": "4", "message": "a secret"}], "has the texts"),
    ],
)
def test_another_text_or_time_is_a_problem(
    texts: Texts, item: dict[str, Any], versions: list[dict[str, Any]], problem: str
) -> None:
    assert problem in texts.problem(item, versions)
