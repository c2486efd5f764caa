"""What a run's page has of DynamoDB on AWS, against moto's CloudWatch."""

from __future__ import annotations

import uuid
from typing import Any

import boto3
import pytest

from loadtest.samples import cloudwatch
from loadtest.samples.cloudwatch import MINUTE, with_dynamodb

BEGAN = 1_800_000_000.0 // MINUTE * MINUTE + 20
TABLE, OPERATION, INDEX = "TableName", "Operation", "GlobalSecondaryIndexName"


class Clock:
    """The time at the end of a run of two minutes."""

    @staticmethod
    def time() -> float:
        return BEGAN + 2 * MINUTE

    @staticmethod
    def sleep(_seconds: float) -> None:
        """CloudWatch has everything at once."""


@pytest.fixture
def stack(aws: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stack's name, and a clock at the end of the run."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setattr(cloudwatch, "time", Clock)
    return f"headrace-{uuid.uuid4().hex[:8]}"


def put(stack: str, metric: str, values: list[float], at: float = BEGAN, **dimensions: str) -> None:
    client: Any = boto3.client("cloudwatch")
    named = [
        {"Name": name, "Value": f"{stack}-{value}-1ABC" if name == TABLE else value}
        for name, value in dimensions.items()
    ]
    data = [{"MetricName": metric, "Dimensions": named, "Timestamp": at, "Values": values}]
    client.put_metric_data(Namespace="AWS/DynamoDB", MetricData=data)


def test_units_throttled_requests_and_latencies_of_the_stacks_tables_are_found(stack: str) -> None:
    rides = {TABLE: "LiftRidesTable"}
    put(stack, "ConsumedWriteCapacityUnits", [200.0], **rides)
    put(stack, "ConsumedWriteCapacityUnits", [100.0], BEGAN + MINUTE, **rides)
    put(stack, "ConsumedWriteCapacityUnits", [7_000.0], BEGAN - MINUTE, **rides)  # before the run
    put(stack, "ConsumedWriteCapacityUnits", [300.0], **rides, **{INDEX: "ResortDayIndex"})
    put(stack, "WriteThrottleEvents", [3.0], **rides)
    put(stack, "SuccessfulRequestLatency", [4.0, 12.0], **rides, **{OPERATION: "BatchWriteItem"})
    put(stack, "SuccessfulRequestLatency", [2.0], BEGAN + MINUTE, **rides, **{OPERATION: "BatchWriteItem"})
    put(stack, "ThrottledRequests", [1.0], **rides, **{OPERATION: "BatchWriteItem"})
    put(stack, "ReturnedItemCount", [9.0], **rides, **{OPERATION: "Query"})  # not asked for
    put(f"{stack}other", "ConsumedWriteCapacityUnits", [1.0], **rides)
    put(f"{stack}-test", "ConsumedWriteCapacityUnits", [1.0], **rides)
    put(stack, "AccountMaxWrites", [1.0])  # of no table

    found = with_dynamodb({"notes": []}, stack, BEGAN)

    assert found["dynamodb"] == {
        "LiftRidesTable": {"ConsumedWriteCapacityUnits Sum": 300.0, "WriteThrottleEvents Sum": 3.0},
        "LiftRidesTable ResortDayIndex": {"ConsumedWriteCapacityUnits Sum": 300.0},
        "LiftRidesTable BatchWriteItem": {
            "SuccessfulRequestLatency SampleCount": 3.0,
            "SuccessfulRequestLatency Sum": 18.0,
            "SuccessfulRequestLatency Maximum": 12.0,
            "ThrottledRequests Sum": 1.0,
        },
    }
    assert found["notes"] == []


def test_without_numbers_a_note_says_why(stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples: dict[str, Any] = {"times": [], "notes": ["other"]}

    assert with_dynamodb(samples, stack, BEGAN)["notes"] == [
        "other",
        f"DynamoDB's numbers of AWS are missing: CloudWatch has no tables of {stack}.",
    ]

    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    *_, note = with_dynamodb(samples, stack, BEGAN)["notes"]

    assert note == "DynamoDB's numbers of AWS are missing: Unable to locate credentials."
