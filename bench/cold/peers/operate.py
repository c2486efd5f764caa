"""An operator's routes: a queue's depth, dead letters, the broker's queues."""

import os

import boto3
import pika
import redis
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from pydantic import BaseModel

logger = Logger(service="operate")
metrics = Metrics(namespace="Peer", service="operate")
app = APIGatewayHttpResolver(enable_validation=True)
queue = boto3.resource("sqs").Queue(os.environ.get("QUEUE_URL", "http://127.0.0.1/0/queue"))
table = boto3.resource("dynamodb").Table(os.environ.get("TABLE", "table"))
secrets = boto3.client("secretsmanager")
cache = redis.Redis(host="127.0.0.1", socket_timeout=0.1)
parameters = pika.ConnectionParameters(host="127.0.0.1")


class Status(BaseModel):
    dead: int
    parked: int


@app.get("/status")
def status() -> Status:
    channel = pika.BlockingConnection(parameters).channel()
    parked = channel.queue_declare("parked", passive=True).method.message_count
    return Status(dead=int(queue.attributes["ApproximateNumberOfMessages"]), parked=parked)
