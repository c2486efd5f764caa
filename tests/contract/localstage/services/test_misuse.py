"""The stage's emulators refuse what AWS's own models of the services do not allow, from every caller.

Functions are other processes, whose clients check no parameters; the emulators would take most mistakes.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.contract.emulators import Emulators

KEY = {"roomId": {"S": "kitchen"}}


def call(url: str, target: str, **parameters: Any) -> tuple[int, dict[str, Any]]:
    """The status and the answer of an emulator to a call."""
    headers = {
        "X-Amz-Target": target,
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request, SignedHeaders=host, Signature=e",
        "X-Amz-Date": "20260101T000000Z",
    }
    try:
        with urlopen(Request(url, json.dumps(parameters).encode(), headers), timeout=10) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"DelayTime": 5}, "DelayTime"),
        ({"DelaySeconds": "5"}, "DelaySeconds"),
        ({"MessageAttributes": {"lane": {"StringValue": "main"}}}, "DataType"),
    ],
    ids=["unknown", "of another type", "missing inside"],
)
def test_sqs_refuses_a_wrong_parameter(emulators: Emulators, parameters: dict[str, Any], reason: str) -> None:
    _, made = call(emulators.sqs_url, "AmazonSQS.CreateQueue", QueueName="misuse")
    message = {"QueueUrl": made["QueueUrl"], "MessageBody": "{}"}

    status, answer = call(emulators.sqs_url, "AmazonSQS.SendMessage", **message, **parameters)

    assert (status, answer["__type"]) == (400, "ValidationException")
    assert reason in answer["message"]
    assert call(emulators.sqs_url, "AmazonSQS.SendMessage", **message)[0] == 200


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("GetItem", {"Key": KEY, "Consistent": True}),
        ("PutItem", {"Item": KEY, "Condition": "attribute_not_exists(roomId)"}),
        ("Query", {"KeyConditionExpression": "roomId = :v", "Size": 1}),
    ],
)
def test_dynamodb_refuses_a_parameter_that_it_does_not_know(
    emulators: Emulators, operation: str, parameters: dict[str, Any]
) -> None:
    """AWS ignores it, so that a read would not be consistent, and a put would have no condition."""
    status, answer = call(emulators.dynamodb_url, f"DynamoDB_20120810.{operation}", TableName="Rooms", **parameters)

    assert status == 400
    assert "Unknown parameters" in answer["message"]
