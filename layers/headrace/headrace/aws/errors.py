"""What a call of an AWS service raises, and which of it is throttling."""

from __future__ import annotations

THROTTLING_CODES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "Throttling",
        "ThrottledException",
        "TooManyRequestsException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "LimitExceededException",
        "AWS.SimpleQueueService.ThrottlingException",
        "KmsThrottled",
    }
)


class AwsError(Exception):
    """A call failed: the base of the two reasons.

    ``code`` is the service's code, or the name of the error of the connection. Neither it nor ``str()`` has private
    data: the service's message is left out, because it may quote an item.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class ServiceError(AwsError):
    """The service refused the call, with an HTTP ``status``."""

    def __init__(self, code: str, status: int) -> None:
        super().__init__(code)
        self.status = status


class NoAnswer(AwsError):
    """There was no complete answer in time: the call may have been executed."""


def is_throttling(error: BaseException) -> bool:
    """Whether the service throttled the call."""
    return isinstance(error, ServiceError) and error.code in THROTTLING_CODES
