"""Events over HTTP to RabbitMQ, with a queue as the fallback and a shared rate limit."""

import json
import os

import boto3
import pika
import redis
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from pika.exceptions import AMQPError
from pydantic import BaseModel

logger = Logger(service="publish")
metrics = Metrics(namespace="Peer", service="publish")
app = APIGatewayHttpResolver(enable_validation=True)
queue = boto3.resource("sqs").Queue(os.environ.get("QUEUE_URL", "http://127.0.0.1/0/queue"))
secrets = boto3.client("secretsmanager")
cache = redis.Redis(host="127.0.0.1", socket_timeout=0.1)
parameters = pika.ConnectionParameters(host="127.0.0.1", heartbeat=600)


class Message(BaseModel):
    message: str
    username: str | None = None


@app.post("/rooms/<room_id>/messages")
def send(room_id: str, message: Message) -> dict[str, str]:
    cache.incr(room_id)
    body = json.dumps({"roomId": room_id, **message.model_dump()})
    try:
        channel = pika.BlockingConnection(parameters).channel()
        channel.confirm_delivery()
        channel.basic_publish("events", room_id, body.encode(), mandatory=True)
    except AMQPError:
        queue.send_message(MessageBody=body)
    return {"roomId": room_id}
