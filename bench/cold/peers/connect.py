"""A WebSocket connection's row, and frames about it."""
# ruff: noqa: F401 - a handler would use them

import os

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
