"""Queues of tasks on SQS: of erasures and exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

from headrace.core import json
from headrace.core.errors import RetryLaneUnavailable
from headrace.core.json import encode
from headrace.runtime.aws import AwsClient, AwsError, call

T = TypeVar("T")


class SqsTaskQueue:
    """A :class:`~headrace.features.people.jobs.TaskQueue` on the queue ``url``, for tasks of any dataclass."""

    def __init__(self, url: str, sqs: AwsClient, subject: str = "erasures") -> None:
        self._url = url
        self._client = sqs
        self._subject = subject

    def send(self, task: Any, delay: int = 0) -> None:
        try:
            call(self._client.send_message, QueueUrl=self._url, MessageBody=encode(asdict(task)), DelaySeconds=delay)
        except AwsError as error:
            raise RetryLaneUnavailable(f"the queue of {self._subject} is unavailable: {error.code}") from error


def read_task(body: str, kind: Callable[..., T]) -> T:
    """The task in a message of the queue, which only Headrace writes."""
    return kind(**json.decode(body))
