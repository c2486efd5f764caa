"""The dead lane: its port, the adapter for an SQS queue, and the counts of any queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import DeadLaneUnavailable, RetryLaneUnavailable
from headrace.queues.sqs import in_batches
from headrace.runtime.aws import AwsClient, AwsError, call

RECEIVE_LIMIT = 10


@dataclass(frozen=True, slots=True)
class ReceivedLetter:
    """A dead record that was received, and is hidden for some seconds.

    ``sent_at`` is when it last entered the retry lane, in microseconds; ``received`` counts every receive since then,
    also those from the dead lane.
    """

    id: str
    receipt: str
    body: str
    attributes: Mapping[str, str]
    sent_at: int
    received: int


LONG_POLL = 1
"""Seconds. A long poll queries all servers of the queue; a short one may miss messages."""
TIMEOUT = 5.0
"""Seconds that the client of a dead lane should wait for an answer: the poll, and time to spare."""


class DeadLane:
    """Receives dead records from the queue ``url``, and releases or deletes them."""

    def __init__(self, url: str, sqs: AwsClient) -> None:
        self._url = url
        self._client = sqs

    def receive(self, hold: int) -> list[ReceivedLetter]:
        """At most ten records, hidden for ``hold`` seconds; none if the queue has no others now.

        Raises:
            DeadLaneUnavailable: the queue does not answer.
        """
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

    def others_hold(self, count: int) -> bool:
        """Whether others hold records, beside ``count`` of the caller. Raises DeadLaneUnavailable."""
        try:
            return queue_counts(self._client, self._url)["inFlight"] > count
        except RetryLaneUnavailable as error:
            raise DeadLaneUnavailable(error.message) from error

    def release(self, held: Sequence[ReceivedLetter]) -> None:
        """Make them visible at once. Where that fails, they become visible when the time of their receive is over."""
        entries = [{"ReceiptHandle": each.receipt, "VisibilityTimeout": 0} for each in held]
        in_batches(self._client.change_message_visibility_batch, self._url, entries)

    def delete(self, held: Sequence[ReceivedLetter]) -> list[bool]:
        """Delete them; whether each is known to be deleted, in order. Never raises for what the queue does."""
        entries = [{"ReceiptHandle": each.receipt} for each in held]
        return in_batches(self._client.delete_message_batch, self._url, entries)


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


_COUNTS = {
    "waiting": "ApproximateNumberOfMessages",
    "inFlight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}


def queue_counts(sqs: AwsClient, url: str) -> dict[str, int]:
    """Messages that are waiting, in flight (received, or hidden until their next try), and delayed.

    SQS counts approximately: the numbers are exact about a minute after the last change.

    Raises:
        RetryLaneUnavailable: the queue did not answer.
    """
    try:
        found = call(sqs.get_queue_attributes, QueueUrl=url, AttributeNames=list(_COUNTS.values()))["Attributes"]
    except AwsError as error:
        raise RetryLaneUnavailable(f"the queue does not answer: {error.code}") from error
    return {name: int(found.get(attribute, 0)) for name, attribute in _COUNTS.items()}
