"""A WebSocket connection's row, and frames about it."""

import os
from typing import Any

import boto3
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.utilities.data_classes import APIGatewayWebSocketEvent
from pydantic import BaseModel

logger = Logger(service="connect")
metrics = Metrics(namespace="Peer", service="connect")
table = boto3.resource("dynamodb").Table(os.environ.get("TABLE", "table"))


class Connection(BaseModel):
    connection_id: str
    room_id: str = ""


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    context = APIGatewayWebSocketEvent(event).request_context
    connection = Connection(connection_id=context.connection_id or "")
    if context.route_key == "$disconnect":
        table.delete_item(Key={"connectionId": connection.connection_id})
    else:
        table.put_item(Item=connection.model_dump())
    return {"statusCode": 200}
