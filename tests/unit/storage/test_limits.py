"""What DynamoDB takes is sent, and nothing beyond it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.storage.dynamodb.limits import check_call


def condition(operators: int) -> str:
    """A filter with so many operators, an odd number: comparisons, and an OR between two of them."""
    return " OR ".join(["#a = :v"] * ((operators + 1) // 2))


TAKEN: list[dict[str, Any]] = [
    {"UpdateExpression": "REMOVE " + "x" * 4089},
    {"FilterExpression": condition(299)},
    {"Key": {"id": {"S": "x" * 2048}, "number": {"N": "1"}}},
    {"ExpressionAttributeValues": {":text": {"S": ""}}, "UpdateExpression": "SET topic = :text"},
]
REFUSED: dict[str, dict[str, Any]] = {
    "UpdateExpression: DynamoDB takes at most 4096 bytes": {"UpdateExpression": "REMOVE " + "x" * 4090},
    "ConditionExpression: DynamoDB takes at most 4096 bytes": {"ConditionExpression": "#a = :" + "я" * 2046},
    "FilterExpression: DynamoDB takes at most 300 operators and functions": {"FilterExpression": condition(301)},
    "id: DynamoDB takes no empty key": {"Key": {"id": {"S": ""}}},
    "owner: DynamoDB takes no empty key": {"ExclusiveStartKey": {"id": {"S": "a"}, "owner": {"S": ""}}},
    ":from: DynamoDB takes no empty key": {
        "KeyConditionExpression": "id = :id AND at >= :from",
        "ExpressionAttributeValues": {":id": {"S": "a"}, ":from": {"S": ""}},
    },
    "id: DynamoDB takes keys of at most 2048 bytes": {"Key": {"id": {"S": "я" * 1025}}},
}


@pytest.mark.parametrize("parameters", TAKEN)
def test_what_dynamodb_takes_is_sent(parameters: dict[str, Any]) -> None:
    check_call(parameters)


@pytest.mark.parametrize("message", REFUSED)
def test_a_call_beyond_the_limits_of_dynamodb_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match="DynamoDB") as refused:
        check_call(REFUSED[message])

    assert str(refused.value) == message
