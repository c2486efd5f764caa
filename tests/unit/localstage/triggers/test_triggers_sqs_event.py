"""The SQS event and the meaning of a partial batch response."""

from __future__ import annotations

import json

import pytest

from localstage.triggers.sqs_event import failed_ids

IDS = {"a", "b", "c"}


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"{}", b'{"batchItemFailures": []}', b'{"batchItemFailures": null}', b'{"other": 1}']
)
def test_nothing_reported_means_that_all_succeeded(payload: bytes):
    assert failed_ids(payload, IDS) == set()


@pytest.mark.parametrize(
    "failures",
    [
        [{"itemIdentifier": ""}],
        [{"itemIdentifier": "a"}, {"itemIdentifier": "unknown"}],
        [{"id": "a"}],
        ["a"],
        {"itemIdentifier": "a"},
    ],
)
def test_an_answer_of_another_shape_means_that_all_failed(failures: object):
    assert failed_ids(json.dumps({"batchItemFailures": failures}).encode(), IDS) == IDS


@pytest.mark.parametrize("payload", [b"not json", b'"ok"', b"[]", b"1", b"\xff"])
def test_an_answer_that_is_no_object_means_that_all_failed(payload: bytes):
    assert failed_ids(payload, IDS) == IDS
