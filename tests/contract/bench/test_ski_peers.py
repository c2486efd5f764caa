"""The peer that adds rides up, against the local stage's DynamoDB."""

from __future__ import annotations

import base64
import importlib
import json
from typing import Any

import boto3
import pytest


def batch(*events: dict[str, Any]) -> dict[str, Any]:
    """An event of a mapping, with a record for each event of a stream."""
    bodies = (json.dumps({"v": 1, "events": [event]}).encode() for event in events)
    return {"rmqMessagesByQueue": {"persist.ski.0::/": [{"data": base64.b64encode(body).decode()} for body in bodies]}}


def ride(skier: int, lift: int) -> dict[str, Any]:
    return {"resortID": 1, "seasonID": 2025, "dayID": 1, "skierID": skier, "time": 7, "liftID": lift}


def test_rides_of_a_skiers_day_are_added_up_and_a_probe_is_left_out(
    dynalite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    client: Any = boto3.client("dynamodb")
    keys = {"skierID": "HASH", "day": "RANGE"}
    client.create_table(
        TableName="SkierDays",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
    )
    monkeypatch.setenv("SKIER_DAYS_TABLE", "SkierDays")
    peer = importlib.import_module("bench.ski.peers.add_up")

    peer.handler(batch(ride(1, 3), ride(2, 5), ride(1, 4), {"queue": "persist.ski.0"}), None)
    peer.handler(batch(ride(1, 4)), None)  # comes again

    rows = client.scan(TableName="SkierDays")["Items"]
    found = {row["skierID"]["S"]: (row["day"]["S"], row["rides"]["N"], row["vertical"]["N"]) for row in rows}
    assert found == {"1": ("1#2025#1", "3", "110"), "2": ("1#2025#1", "1", "50")}
    client.delete_table(TableName="SkierDays")
