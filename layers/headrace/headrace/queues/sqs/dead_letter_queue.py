"""The dead lane on an SQS queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.collections import slices
from headrace.core.errors import DeadLaneUnavailable
from headrace.queues.ports import RECEIVE_LIMIT, ReceivedLetter
from headrace.runtime.aws import AwsClient, AwsError, call

LONG_POLL = 1
"""Seconds. A long poll queries all servers of the queue; a short one may miss messages."""
TIMEOUT = 5.0
"""Seconds that the client of a dead lane should wait for an answer: the poll, and time to spare."""


class SqsDeadLane:
    """A :class:`~headrace.queues.ports.DeadLane` on the queue ``url``."""

    def __init__(self, url: str, sqs: AwsClient) -> None:
        self._url = url
        self._client = sqs

    def receive(self, hold: int) -> list[ReceivedLetter]:
        try:
            answer = call(
                self._client.receive_message,
                QueueUrl=self._url,
                MaxNumberOfMessages=RECEIVE_LIMIT,
                VisibilityTimeout=hold,
                WaitTimeSeconds=LONG_POLL,
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
            )
        except AwsError as error:
            raise DeadLaneUnavailable(f"the dead-letter queue is unavailable: {error.code}") from error
        return [_received(message) for message in answer.get("Messages", ())]

    def release(self, held: Sequence[ReceivedLetter]) -> None:
        for part in slices(held, RECEIVE_LIMIT):
            entries = [
                {"Id": str(index), "ReceiptHandle": each.receipt, "VisibilityTimeout": 0}
                for index, each in enumerate(part)
            ]
            try:
                call(self._client.change_message_visibility_batch, QueueUrl=self._url, Entries=entries)
            except AwsError:
                continue  # they become visible when their visibility timeout ends

    def delete(self, held: Sequence[ReceivedLetter]) -> list[bool]:
        return [deleted for part in slices(held, RECEIVE_LIMIT) for deleted in self._delete(part)]

    def _delete(self, held: Sequence[ReceivedLetter]) -> list[bool]:
        entries = [{"Id": str(index), "ReceiptHandle": each.receipt} for index, each in enumerate(held)]
        try:
            answer = call(self._client.delete_message_batch, QueueUrl=self._url, Entries=entries)
        except AwsError:
            return [False] * len(held)
        done = {entry["Id"] for entry in answer.get("Successful", ())}
        return [entry["Id"] in done for entry in entries]


def _received(message: Mapping[str, Any]) -> ReceivedLetter:
    system = message.get("Attributes", {})
    given = message.get("MessageAttributes", {})
    return ReceivedLetter(
        message["MessageId"],
        message["ReceiptHandle"],
        message["Body"],
        {name: value["StringValue"] for name, value in given.items() if "StringValue" in value},
        int(system.get("SentTimestamp", 0)) * 1000,
        int(system.get("ApproximateReceiveCount", 1)),
    )
