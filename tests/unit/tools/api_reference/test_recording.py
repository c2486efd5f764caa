"""A new recording of the examples changes only those whose request or answer has changed."""

from __future__ import annotations

from typing import Any

import pytest

from tools.api_reference.examples import Example
from tools.api_reference.recording import kept

ITEM = {"key": "2026-11-24T13:37:57.992932Z#m-6#jprwsmezllgq", "userId": "alice"}
JOIN = {**ITEM, "memberId": "bob"}
ERROR = {"code": "not_found", "message": "there is no room", "correlationId": "RjZl73EFmrQb8B0="}


def example(answer: Any, body: Any = None, status: int = 200) -> Example:
    return Example("GET /x", "ok", {"body": body}, status, answer)


@pytest.mark.parametrize(
    ("before", "found"),
    [
        (example({"items": [ITEM, JOIN], "hasMore": False}), example({"items": [ITEM], "hasMore": True})),
        (example({"next": None, "count": 1}), example({"next": "a cursor", "count": 7})),
        (example({"error": ERROR}), example({"error": {**ERROR, "correlationId": "GspVUrJ5PhZm0Qc="}})),
        (example({}, {"timestamp": "2026-11-24T13:37:57Z"}), example({}, {"timestamp": "2026-11-25T13:37:57Z"})),
    ],
)
def test_an_example_with_other_times_ids_and_counts_stays_as_it_was(before: Example, found: Example) -> None:
    assert kept([before], [found]) == [before]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        (example({"items": [ITEM]}), example({"items": [JOIN]})),
        (example({"a": 1}), example({"a": 1, "b": 2})),
        (example({"a": 1}), example({"a": "1"})),
        (example({}, status=200), example({}, status=202)),
        (example({"error": ERROR}), example({"error": {**ERROR, "message": "no such room"}})),
        (example({}, {"limit": 2}), example({}, {"limit": 3})),
        (example({}, {"limit": None}), example({}, {"limit": 3})),
    ],
)
def test_an_example_with_another_request_status_form_or_error_changes(before: Example, found: Example) -> None:
    assert kept([before], [found]) == [found]


def test_a_new_example_is_added_and_one_without_a_request_goes() -> None:
    new = Example("GET /y", "ok", {}, 200, {})

    assert kept([example({})], [new]) == [new]
