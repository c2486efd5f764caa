"""The SQS event and the meaning of a partial batch response."""

from __future__ import annotations

import json

import pytest

from localstage.triggers.sqs_event import build_event, failed_ids

IDS = {"a", "b", "c"}


def message(body: str) -> dict[str, str]:
    return {"MessageId": "m", "ReceiptHandle": "r", "Body": body, "MD5OfBody": "d"}


def test_a_record_has_every_field_even_when_nothing_was_sent_but_a_body():
    event = build_event([message("añ\n")], "arn:aws:sqs:eu-north-1:123456789012:q")

    assert json.loads(event) == {
        "Records": [
            {
                "messageId": "m",
                "receiptHandle": "r",
                "body": "añ\n",
                "attributes": {},
                "messageAttributes": {},
                "md5OfBody": "d",
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-north-1:123456789012:q",
                "awsRegion": "eu-north-1",
            }
        ]
    }


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"{}", b'{"batchItemFailures": []}', b'{"batchItemFailures": null}', b'{"other": 1}']
)
def test_nothing_reported_means_that_all_succeeded(payload: bytes):
    assert failed_ids(payload, IDS) == set()


def test_reported_messages_failed():
    payload = json.dumps({"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "c"}]}).encode()

    assert failed_ids(payload, IDS) == {"a", "c"}


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
