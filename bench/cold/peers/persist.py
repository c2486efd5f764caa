"""Events from queues into a table, with live copies and a cache that is kept up to date."""
# ruff: noqa: F401 - a handler would use them

import os

import boto3
import pika
import redis
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.rabbit_mq_event import RabbitMQEvent
from pydantic import BaseModel

logger = Logger(service="persist")
metrics = Metrics(namespace="Peer", service="persist")
processor = BatchProcessor(EventType.SQS)
table = boto3.resource("dynamodb").Table(os.environ.get("TABLE", "table"))
queue = boto3.resource("sqs").Queue(os.environ.get("QUEUE_URL", "http://127.0.0.1/0/queue"))
cache = redis.Redis(host="127.0.0.1", socket_timeout=0.1)
parameters = pika.ConnectionParameters(host="127.0.0.1")


class Message(BaseModel):
    room_id: str
    message: str
