"""Every exception of pika maps to one of ours; a new one makes these tests fail."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

import pika.exceptions
import pytest
from pika.adapters.utils import connection_workflow

from headrace.core.errors import BrokerUnavailable, ConnectionLost, PublisherBlocked, PublishNacked, PublishReturned
from headrace.queues.rabbitmq.endpoints import PIKA_ERRORS, broker_error, is_authentication, root_cause

MISTAKES = {
    pika.exceptions.ChannelError,
    pika.exceptions.DuplicateGetOkCallback,
    pika.exceptions.ReentrancyError,
}
"""Raised for errors in the calling code or a broken installation: these are not handled."""


def raisable(module: ModuleType) -> Iterator[type[BaseException]]:
    for _, kind in inspect.getmembers(module, inspect.isclass):
        if issubclass(kind, Exception) and not issubclass(kind, Warning) and kind not in MISTAKES:
            yield kind


@pytest.mark.parametrize(
    "kind", [*raisable(pika.exceptions), *raisable(connection_workflow)], ids=lambda kind: kind.__name__
)
def test_every_exception_of_pika_maps_to_a_publishers_error(kind: type[BaseException]) -> None:
    bare = kind.__new__(kind)

    assert issubclass(kind, PIKA_ERRORS)
    if kind is connection_workflow.AMQPConnectionWorkflowFailed:
        bare = kind((OSError(),))
    elif issubclass(kind, connection_workflow.AMQPConnectorPhaseErrorBase):
        bare = kind(OSError())
    assert isinstance(broker_error(bare), BrokerUnavailable)


@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        (pika.exceptions.UnroutableError, PublishReturned),
        (pika.exceptions.NackError, PublishNacked),
        (pika.exceptions.ConnectionBlockedTimeout, PublisherBlocked),
        (pika.exceptions.StreamLostError, ConnectionLost),
        (ConnectionRefusedError, ConnectionLost),
    ],
)
def test_exceptions_of_pika_are_distinguished(kind: type[BaseException], meaning: type[BrokerUnavailable]) -> None:
    assert type(broker_error(kind.__new__(kind))) is meaning


def test_refused_credentials_are_found_through_all_wrappings() -> None:
    refused = pika.exceptions.ConnectionClosedByBroker(403, "ACCESS_REFUSED")
    wrapped = connection_workflow.AMQPConnectionWorkflowFailed(
        [connection_workflow.AMQPConnectorAMQPHandshakeError(refused)]
    )

    assert is_authentication(wrapped)
    assert root_cause(wrapped) is refused
    assert is_authentication(pika.exceptions.ProbableAuthenticationError("no"))
    assert not is_authentication(pika.exceptions.ConnectionClosedByBroker(320, "CONNECTION_FORCED"))


def test_our_errors_do_not_contain_the_brokers_text() -> None:
    error = broker_error(pika.exceptions.ConnectionClosedByBroker(403, "user 'admin' refused"))

    assert "admin" not in error.message
