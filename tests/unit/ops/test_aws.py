"""The resources of a stack, with those of the stacks nested in it."""

from __future__ import annotations

from typing import Any

import pytest

from ops import aws

MAPPING = "AWS::Lambda::EventSourceMapping"


def test_mappings_of_two_brokers_with_the_same_logical_ids_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """``make destroy`` stops each, and ``make doctor`` looks at each."""
    listed = {
        "dev": [
            (aws.NESTED, "BrokerMappings", "first"),
            (aws.NESTED, "SecondMappings", "second"),
            (MAPPING, "Own", "m-0"),
        ],
        "first": [(MAPPING, "PersistChat0", "m-1")],
        "second": [(MAPPING, "PersistChat0", "m-2")],
    }

    def call(_service: str, _operation: str, StackName: str) -> dict[str, Any]:  # noqa: N803 as AWS names it
        names = ("ResourceType", "LogicalResourceId", "PhysicalResourceId")
        return {"StackResourceSummaries": [dict(zip(names, one, strict=True)) for one in listed[StackName]]}

    monkeypatch.setattr(aws, "call", call)

    assert aws.Stack("dev").ids(MAPPING) == {
        "BrokerMappings/PersistChat0": "m-1",
        "SecondMappings/PersistChat0": "m-2",
        "Own": "m-0",
    }
