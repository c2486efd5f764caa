"""Maps pika's exceptions to Headrace's errors. A test fails when pika adds an exception that is not covered."""

from __future__ import annotations

from pika import exceptions
from pika.adapters.utils.connection_workflow import (
    AMQPConnectionWorkflowFailed,
    AMQPConnectorException,
    AMQPConnectorPhaseErrorBase,
)

from headrace.core.errors import BrokerUnavailable, ConnectionLost, PublisherBlocked, PublishNacked, PublishReturned

PIKA_ERRORS = (exceptions.AMQPError, AMQPConnectorException, OSError)
"""Every exception that pika raises or reports for what the broker or the network did (TLS errors are OSErrors)."""

_MAPPING: dict[type[BaseException], type[BrokerUnavailable]] = {
    exceptions.UnroutableError: PublishReturned,
    exceptions.NackError: PublishNacked,
    exceptions.ConnectionBlockedTimeout: PublisherBlocked,
}

_AUTHENTICATION = (
    exceptions.AuthenticationError,
    exceptions.ProbableAuthenticationError,
    exceptions.ProbableAccessDeniedError,
)
ACCESS_REFUSED = 403


def broker_error(error: BaseException) -> BrokerUnavailable:
    """``error`` as an error of a publisher; its message does not quote the broker's."""
    mapped = next((mapped for known, mapped in _MAPPING.items() if isinstance(error, known)), ConnectionLost)
    return mapped(f"the broker is unavailable: {type(root_cause(error)).__name__}")


def root_cause(error: BaseException) -> BaseException:
    """The exception that pika's connection workflow wraps, through all its layers."""
    while True:
        if isinstance(error, AMQPConnectionWorkflowFailed) and error.exceptions:
            error = error.exceptions[-1]
        elif isinstance(error, AMQPConnectorPhaseErrorBase):
            error = error.exception
        else:
            return error


def is_authentication(error: BaseException) -> bool:
    """Whether the broker refused the credentials."""
    if isinstance(error, AMQPConnectionWorkflowFailed):
        return any(is_authentication(inner) for inner in error.exceptions)
    cause = root_cause(error)
    if isinstance(cause, exceptions.ConnectionClosedByBroker):
        return cause.reply_code == ACCESS_REFUSED
    return isinstance(cause, _AUTHENTICATION)
