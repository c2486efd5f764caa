"""How much lies in an SQS queue."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import RetryLaneUnavailable
from headrace.runtime.aws import AWS_ERRORS, error_code

_COUNTS = {
    "waiting": "ApproximateNumberOfMessages",
    "inFlight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}


def queue_counts(sqs: Any, url: str) -> dict[str, int]:
    """Messages that wait, that are in flight (received, or hidden until their next try), and that are delayed.

    SQS counts approximately: within a minute of the last change the numbers are right.

    Raises:
        RetryLaneUnavailable: the queue did not answer.
    """
    try:
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS.values()))["Attributes"]
    except AWS_ERRORS as error:
        raise RetryLaneUnavailable(f"the queue does not answer: {error_code(error)}") from error
    return {name: int(found.get(attribute, 0)) for name, attribute in _COUNTS.items()}
