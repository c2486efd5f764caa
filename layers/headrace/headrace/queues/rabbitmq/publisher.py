"""Publishes to RabbitMQ over one connection per environment, which is kept across invocations and freezes.

:meth:`RabbitPublisher.publish` keeps to the budget: the first attempt has the larger share of it, and messages
that are unsettled then (connection lost, or not confirmed) are sent once more over a new connection. Returned and
nacked messages are settled, and are not sent again. The first publish also reads the secret, outside the budget.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from pika import ConnectionParameters, PlainCredentials, SSLOptions

from headrace.core.errors import (
    BrokerUnavailable,
    ConfigurationError,
    ConnectionLost,
    PublishUnconfirmed,
    SecretsUnavailable,
)
from headrace.queues.ports import Outcome, Outgoing
from headrace.queues.rabbitmq.confirm_channel import ConfirmChannel
from headrace.queues.rabbitmq.errors import PIKA_ERRORS, broker_error, is_authentication
from headrace.runtime.secrets import Credentials, Secrets, credentials
from headrace.runtime.settings import BrokerSettings

FIRST_TRY = 0.6
"""The share of the budget after which unconfirmed messages are sent again."""
_PORTS = {"amqp": 5672, "amqps": 5671}


class RabbitPublisher:
    """A :class:`~headrace.queues.ports.Publisher` on RabbitMQ. Not thread-safe."""

    def __init__(self, settings: BrokerSettings, secrets: Secrets) -> None:
        self._settings = settings
        self._secrets = secrets
        self._link: ConfirmChannel | None = None

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        outcomes: list[Outcome] = [_NOT_SENT] * len(messages)
        pending = list(range(len(messages)))
        try:
            known = credentials(self._secrets, self._settings.broker_secret_arn)
            start = time.monotonic()
            for share in (FIRST_TRY, 1.0):
                budget = self._settings.publish_budget_seconds
                link = self._ready(known, start + budget)
                tried = link.publish([messages[index] for index in pending], start + share * budget)
                for index, outcome in zip(pending, tried, strict=True):
                    outcomes[index] = outcome
                if link.trusted:
                    break
                self.close()
                pending = [index for index in pending if isinstance(outcomes[index], _UNSETTLED)]
                if not pending:
                    break
        except (BrokerUnavailable, SecretsUnavailable, ConfigurationError) as error:
            reason = error if isinstance(error, BrokerUnavailable) else ConnectionLost(error.message)
            # Outcomes of the first attempt are kept: an unconfirmed message may be in its queue, an unsent one is not.
            outcomes = [reason if outcome is _NOT_SENT else outcome for outcome in outcomes]
        except BaseException:
            # pika may be in any state: if this connection were kept, every later publish could fail.
            self.close()
            raise
        return outcomes

    def _ready(self, known: Credentials, deadline: float) -> ConfirmChannel:
        """The open connection, or a new one; outdated credentials are read again, once.

        Raises:
            BrokerUnavailable: no endpoint accepts a connection before ``deadline``.
        """
        if self._link is not None and self._link.notice():
            return self._link
        self.close()
        try:
            try:
                self._link = ConfirmChannel.open(self._endpoints(known, deadline), deadline)
            except PIKA_ERRORS as error:
                if not is_authentication(error):
                    raise
                renewed = credentials(self._secrets, self._settings.broker_secret_arn, fresh=True)
                self._link = ConfirmChannel.open(self._endpoints(renewed, deadline), deadline)
        except PIKA_ERRORS as error:
            raise broker_error(error) from error
        return self._link

    def _endpoints(self, known: Credentials, deadline: float) -> list[ConnectionParameters]:
        share = max(0.1, (deadline - time.monotonic()) / len(self._settings.broker_endpoints))
        return endpoints(self._settings, known, share, self._settings.broker_heartbeat_seconds)

    def close(self) -> None:
        if self._link is not None:
            self._link.drop()
            self._link = None


_NOT_SENT = ConnectionLost("the broker is unavailable")
_UNSETTLED = (ConnectionLost, PublishUnconfirmed)


def endpoints(
    settings: BrokerSettings, known: Credentials, timeout: float, heartbeat: int
) -> list[ConnectionParameters]:
    """Parameters for each of the broker's endpoints, with a timeout and a heartbeat in seconds."""
    return [parameters(url, known, timeout, heartbeat) for url in settings.broker_endpoints]


def parameters(url: str, known: Credentials, timeout: float, heartbeat: int) -> ConnectionParameters:
    """Parameters for ``url`` (``amqp://host:port/vhost``; ``amqps`` verifies the host), with a timeout in seconds."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    tls = SSLOptions(ssl.create_default_context(), host) if parts.scheme == "amqps" else None
    return ConnectionParameters(
        host=host,
        port=parts.port or _PORTS[parts.scheme],
        virtual_host=unquote(parts.path[1:]) or "/",
        credentials=PlainCredentials(known.username, known.password),
        ssl_options=tls,
        heartbeat=heartbeat,
        socket_timeout=timeout,
        stack_timeout=timeout,
        connection_attempts=1,
        retry_delay=0,
    )
