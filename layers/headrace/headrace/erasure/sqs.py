"""The queue of erasures on SQS."""

from __future__ import annotations

from dataclasses import asdict

from headrace.core import json
from headrace.core.errors import RetryLaneUnavailable
from headrace.core.json import encode
from headrace.erasure.tasks import Task
from headrace.runtime.aws import AwsClient, AwsError, call


class SqsTaskQueue:
    """A :class:`~headrace.erasure.tasks.TaskQueue` on the queue ``url``."""

    def __init__(self, url: str, sqs: AwsClient) -> None:
        self._url = url
        self._client = sqs

    def send(self, task: Task, delay: int = 0) -> None:
        try:
            call(self._client.send_message, QueueUrl=self._url, MessageBody=encode(asdict(task)), DelaySeconds=delay)
        except AwsError as error:
            raise RetryLaneUnavailable(f"the queue of erasures is unavailable: {error.code}") from error


def read_task(body: str) -> Task:
    """The task in a message of the queue, which only Headrace writes."""
    return Task(**json.decode(body))
