"""Messages from a queue to the connections of a room."""

import json
import os
from typing import Any

import boto3
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.utilities.data_classes.rabbit_mq_event import RabbitMQEvent
from boto3.dynamodb.conditions import Key
from pydantic import BaseModel

logger = Logger(service="push")
metrics = Metrics(namespace="Peer", service="push")
table = boto3.resource("dynamodb").Table(os.environ.get("TABLE", "table"))
management = boto3.client("apigatewaymanagementapi")


class Message(BaseModel):
    room_id: str
    message: str


def handler(event: dict[str, Any], _context: Any) -> None:
    for records in RabbitMQEvent(event).rmq_messages_by_queue.values():
        for record in records:
            message = Message.model_validate_json(record.decoded_data)
            for row in table.query(KeyConditionExpression=Key("roomId").eq(message.room_id))["Items"]:
                data = json.dumps(message.model_dump()).encode()
                management.post_to_connection(ConnectionId=str(row["connectionId"]), Data=data)
