"""The SQS event and the meaning of a partial batch response."""

from __future__ import annotations

import pytest

from localstage.triggers.sqs_event import failed_ids

IDS = {"a", "b", "c"}


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"{}", b'{"batchItemFailures": []}', b'{"batchItemFailures": null}', b'{"other": 1}']
)
def test_nothing_reported_means_that_all_succeeded(payload: bytes):
    assert failed_ids(payload, IDS) == set()


@pytest.mark.parametrize(
    "payload",
    [
        *(b"not json", b'"ok"', b"[]", b"1", b"\xff"),
        b'{"batchItemFailures": [{"itemIdentifier": ""}]}',
        b'{"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "unknown"}]}',
        b'{"batchItemFailures": [{"id": "a"}]}',
        b'{"batchItemFailures": ["a"]}',
        b'{"batchItemFailures": {"itemIdentifier": "a"}}',
    ],
)
def test_an_answer_of_another_shape_means_that_all_failed(payload: bytes):
    assert failed_ids(payload, IDS) == IDS
