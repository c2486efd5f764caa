"""The depths of the broker's queues, by passive declares over a new connection."""

from __future__ import annotations

from collections.abc import Iterable

from pika import BlockingConnection
from pika.exceptions import ChannelClosedByBroker

from headrace.queues.ports import QueueDepth
from headrace.queues.rabbitmq.errors import PIKA_ERRORS, broker_error, is_authentication
from headrace.queues.rabbitmq.publisher import endpoints
from headrace.runtime.secrets import Credentials, Secrets, credentials
from headrace.runtime.settings import BrokerSettings

HEARTBEAT = 1
"""Seconds. pika's blocking calls have no time limit: after about 12 s this ends one on a silent broker."""
NOT_FOUND = 404


def queue_depths(
    settings: BrokerSettings, secrets: Secrets, names: Iterable[str], seconds: float
) -> dict[str, QueueDepth | str]:
    """The depth of each queue, or in a few words why it has none; ``seconds`` are for connecting.

    Raises:
        BrokerUnavailable: it could not be reached, or the connection broke.
        SecretsUnavailable: the credentials could not be read.
    """
    try:
        connection = _connect(settings, secrets, seconds)
        try:
            return {name: _depth(connection, name) for name in names}
        finally:
            if connection.is_open:
                connection.close()
    except PIKA_ERRORS as error:
        raise broker_error(error) from error


def _connect(settings: BrokerSettings, secrets: Secrets, seconds: float) -> BlockingConnection:
    share = seconds / len(settings.broker_endpoints)

    def connect(known: Credentials) -> BlockingConnection:
        return BlockingConnection(endpoints(settings, known, share, HEARTBEAT))

    try:
        return connect(credentials(secrets, settings.broker_secret_arn))
    except PIKA_ERRORS as error:
        if not is_authentication(error):
            raise
    return connect(credentials(secrets, settings.broker_secret_arn, fresh=True))


def _depth(connection: BlockingConnection, name: str) -> QueueDepth | str:
    channel = connection.channel()
    try:
        found = channel.queue_declare(name, passive=True).method
    except ChannelClosedByBroker as error:
        return "there is no such queue" if error.reply_code == NOT_FOUND else f"the broker says {error.reply_code}"
    channel.close()
    return QueueDepth(found.message_count, found.consumer_count)
