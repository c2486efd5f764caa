"""Adds each ride to the row of its skier's day. A ride that is delivered again is added again."""

from __future__ import annotations

import base64
import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from botocore.config import Config

CALLS = 8
"""Calls at once, as persist_events has."""

dynamodb: Any = boto3.client("dynamodb", config=Config(max_pool_connections=CALLS))
threads = ThreadPoolExecutor(CALLS)


def add(ride: dict[str, Any]) -> None:
    """Add a ride."""
    day = "#".join(str(ride[name]) for name in ("resortID", "seasonID", "dayID"))
    dynamodb.update_item(
        TableName=os.environ["SKIER_DAYS_TABLE"],
        Key={"skierID": {"S": str(ride["skierID"])}, "day": {"S": day}},
        UpdateExpression="ADD rides :one, vertical :vertical",
        ExpressionAttributeValues={":one": {"N": "1"}, ":vertical": {"N": str(10 * int(ride["liftID"]))}},
    )


def handler(event: dict[str, Any], _context: object) -> None:
    """Add the rides of a batch; the mapping returns the whole batch to the queue if a call fails."""
    bodies = (base64.b64decode(record["data"]) for queue in event["rmqMessagesByQueue"].values() for record in queue)
    list(threads.map(add, (ride for body in bodies for ride in json.loads(body)["events"] if "liftID" in ride)))
