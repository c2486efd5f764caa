"""Events from queues into a table, with live copies and a cache that is kept up to date."""

import os
from typing import Any

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


def store(body: str) -> None:
    message = Message.model_validate_json(body)
    table.put_item(Item=message.model_dump())
    cache.delete(message.room_id)


def handler(event: dict[str, Any], context: Any) -> Any:
    if event.get("eventSource") == "aws:rmq":
        for records in RabbitMQEvent(event).rmq_messages_by_queue.values():
            for record in records:
                store(record.decoded_data)
        return None
    return process_partial_response(event, lambda record: store(record.body), processor, context)
