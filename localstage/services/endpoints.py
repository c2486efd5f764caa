"""What the services of a stage tell about themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

from localstage.core.model import BrokerUrls


@dataclass(frozen=True)
class Endpoints:
    """Where the services are.

    ``amqp_url`` has no credentials in it; ``broker_username`` and ``broker_password`` are those given to ``Services``,
    unless ``LOCALSTAGE_RABBITMQ_URL`` names others. ``broker_console_url`` is that of its management API.
    ``cache_endpoint`` is ``host:port``, with ``user:password@`` before it where the cache has a password.
    ``session_token`` is the one that emulators ask for; empty: they ask for none.
    """

    amqp_url: str
    dynamodb_url: str
    sqs_url: str
    s3_url: str
    secrets_manager_url: str
    broker_username: str
    broker_password: str = field(repr=False)
    broker_console_url: str
    cache_endpoint: str = field(repr=False)
    session_token: str = field(repr=False)
    further_brokers: tuple[BrokerUrls, ...] = ()
    """The brokers after the first, which have the same credentials."""


@dataclass(frozen=True)
class ServiceStatus:
    """One line of ``status``; ``pid`` is ``None`` for a service that the stage did not start."""

    name: str
    pid: int | None
    url: str
    healthy: bool
