"""Reads how many messages and consumers queues have, by passive declares over a new connection."""

from __future__ import annotations

from collections.abc import Iterable

from pika import BlockingConnection
from pika.exceptions import ChannelClosedByBroker

from headrace.queues.ports import QueueDepth
from headrace.queues.rabbitmq.endpoints import blocking_connection
from headrace.runtime.secrets import Secrets
from headrace.runtime.settings import BrokerSettings

HEARTBEAT = 1
"""Seconds. It ends a call to a silent broker after about 12 s."""
NOT_FOUND = 404


def queue_depths(
    settings: BrokerSettings, secrets: Secrets, names: Iterable[str], seconds: float
) -> dict[str, QueueDepth | str]:
    """The depth of each queue, or in a few words why it has none; at most ``seconds`` to connect.

    Raises:
        BrokerUnavailable: it could not be reached, or the connection broke.
        SecretsUnavailable: the credentials could not be read.
    """
    with blocking_connection(settings, secrets, seconds / len(settings.broker_endpoints), HEARTBEAT) as connection:
        return {name: _depth(connection, name) for name in names}


def _depth(connection: BlockingConnection, name: str) -> QueueDepth | str:
    channel = connection.channel()
    try:
        found = channel.queue_declare(name, passive=True).method
    except ChannelClosedByBroker as error:
        return "there is no such queue" if error.reply_code == NOT_FOUND else f"the broker says {error.reply_code}"
    channel.close()
    return QueueDepth(found.message_count, found.consumer_count)
