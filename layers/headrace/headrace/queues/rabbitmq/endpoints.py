"""Connects to the broker: parameters for its endpoints, and a blocking connection for the operators' functions."""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Callable, Iterator
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from pika import BlockingConnection, ConnectionParameters, PlainCredentials, SSLOptions, exceptions
from pika.adapters.utils.connection_workflow import (
    AMQPConnectionWorkflowFailed,
    AMQPConnectorException,
    AMQPConnectorPhaseErrorBase,
)

from headrace.core.errors import (
    BrokerUnavailable,
    ConnectionLost,
    PublisherBlocked,
    PublishNacked,
    PublishReturned,
    SecretsUnavailable,
)
from headrace.runtime.secrets import Credentials, Secrets, credentials
from headrace.runtime.settings import BrokerSettings

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


T = TypeVar("T")

RETRY_SECONDS = 1.0
BLOCKED_SECONDS = 5.0
"""How long a blocking connection waits while the broker accepts nothing from publishers."""
_PORTS = {"amqp": 5672, "amqps": 5671}


@contextlib.contextmanager
def blocking_connection(
    settings: BrokerSettings, secrets: Secrets, timeout: float, heartbeat: int
) -> Iterator[BlockingConnection]:
    """A connection to the first endpoint that answers within ``timeout`` seconds; it is closed at the end.

    pika's blocking calls have no timeout. After about two intervals of ``heartbeat`` seconds the connection to a
    silent broker is lost, which ends the call.

    Raises:
        BrokerUnavailable: the broker could not be reached, refused a command, or the connection was lost.
        SecretsUnavailable: the credentials could not be read.
    """

    def connect(known: Credentials) -> BlockingConnection:
        hosts = endpoints(settings, known, timeout, heartbeat)
        for host in hosts:
            host.blocked_connection_timeout = BLOCKED_SECONDS
        return BlockingConnection(hosts)

    try:
        connection = with_credentials(settings, secrets, connect)
        try:
            yield connection
        finally:
            if connection.is_open:
                connection.close()
    except PIKA_ERRORS as error:
        raise broker_error(error) from error


def with_credentials(settings: BrokerSettings, secrets: Secrets, connect: Callable[[Credentials], T]) -> T:
    """What ``connect`` returns; credentials that the broker refuses are read again, once. Raises pika's exceptions."""
    try:
        return connect(credentials(secrets, settings.broker_secret_arn))
    except PIKA_ERRORS as error:
        if not is_authentication(error):
            raise
    return connect(credentials(secrets, settings.broker_secret_arn, fresh=True))


def until_available(attempt: Callable[[], T], seconds: float) -> T:
    """The result of ``attempt``, which is repeated for ``seconds`` while the broker or a secret is unavailable."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except (BrokerUnavailable, SecretsUnavailable):
            if time.monotonic() >= deadline:
                raise
        time.sleep(RETRY_SECONDS)


def endpoints(
    settings: BrokerSettings, known: Credentials, timeout: float, heartbeat: int
) -> list[ConnectionParameters]:
    """Parameters for each endpoint of each broker, with a timeout and a heartbeat in seconds."""
    return [_parameters(url, known, timeout, heartbeat) for nodes in settings.broker_endpoints for url in nodes]


def _parameters(url: str, known: Credentials, timeout: float, heartbeat: int) -> ConnectionParameters:
    parts = urlsplit(url)
    host = parts.hostname or ""
    tls = SSLOptions(ssl.create_default_context(), host) if parts.scheme == "amqps" else None
    return ConnectionParameters(
        host=host,
        port=parts.port or _PORTS[parts.scheme],
        virtual_host=virtual_host(url),
        credentials=PlainCredentials(known.username, known.password),
        ssl_options=tls,
        heartbeat=heartbeat,
        socket_timeout=timeout,
        stack_timeout=timeout,
        connection_attempts=1,
        retry_delay=0,
    )


def virtual_host(url: str) -> str:
    """The virtual host in an endpoint's ``url``; without one, RabbitMQ's first."""
    return unquote(urlsplit(url).path[1:]) or "/"
