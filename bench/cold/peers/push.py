"""Messages from a queue to the connections of a room."""
# ruff: noqa: F401 - a handler would use them

import json
import os

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
