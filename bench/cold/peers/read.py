"""A page of a table over HTTP, with a cache in front."""

import os
from typing import Annotated

import boto3
import redis
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Query
from boto3.dynamodb.conditions import Key
from pydantic import BaseModel

logger = Logger(service="read")
metrics = Metrics(namespace="Peer", service="read")
app = APIGatewayHttpResolver(enable_validation=True)
table = boto3.resource("dynamodb").Table(os.environ.get("TABLE", "table"))
cache = redis.Redis(host="127.0.0.1", socket_timeout=0.1)


class Message(BaseModel):
    room_id: str
    message: str


@app.get("/rooms/<room_id>/messages")
def page(room_id: str, limit: Annotated[int, Query(ge=1, le=200)] = 20) -> list[Message]:
    if cached := cache.get(room_id):
        return [Message.model_validate_json(cached)]
    found = table.query(KeyConditionExpression=Key("roomId").eq(room_id), Limit=limit)["Items"]
    return [Message.model_validate(item) for item in found]
