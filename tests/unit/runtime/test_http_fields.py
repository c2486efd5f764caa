"""Header fields in every form that RFC 9112 allows."""

from __future__ import annotations

import pytest

from headrace.runtime.http_fields import content_length, http_fields, is_last


def test_names_have_any_case_and_values_any_space_around_them() -> None:
    head = b"HTTP/1.1 200 OK\r\nCONTENT-length:\t 7 \r\nConnection:Close\r\nx-a: 1\r\nX-A:2:3\r\nno field\r\n\r\n"

    fields = http_fields(head)

    assert fields == {"content-length": "7", "connection": "Close", "x-a": "1, 2:3"}
    assert (content_length(fields), is_last(fields)) == (7, True)


@pytest.mark.parametrize("given", ["", "many", "-1", "7, 7", "\xb2", "9" * 5_000])
def test_a_length_of_another_form_is_none(given: str) -> None:
    assert content_length({"content-length": given}) is None
