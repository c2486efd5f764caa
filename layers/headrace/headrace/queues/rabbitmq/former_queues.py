"""Moves events out of persist queues that no stream has any more: after its number was lowered, or a change of names.

An update deletes a queue's mapping at its end, when nothing is published to the queue any more. What then still waits
there goes to a persist queue of its stream. A message leaves its queue only when the broker has confirmed its copy. A
connection that is lost in between leaves two copies; the event is still stored once.
"""

from __future__ import annotations

import time
from typing import Any

from pika import BlockingConnection
from pika.adapters.blocking_connection import BlockingChannel

from headrace.queues.names import PERSIST_PREFIX, Groups, persist_queues
from headrace.queues.ports import QueueDepth
from headrace.queues.rabbitmq.endpoints import blocking_connection, virtual_host
from headrace.queues.rabbitmq.parked import move_one, publish_again, queue_instead
from headrace.queues.rabbitmq.topology import CONNECT_SECONDS, HEARTBEAT_SECONDS, depth_of
from headrace.queues.rabbitmq.users import BrokerUsersSettings, ManagementApi, console_url
from headrace.runtime.secrets import Secrets, credentials


def empty_former_queues(settings: BrokerUsersSettings, secrets: Secrets, seconds: float) -> dict[str, int]:
    """Move messages for at most ``seconds``; how many each queue had that were moved.

    A queue that a mapping still reads is left to it. The emptied queue stays.

    Raises:
        BrokerUnavailable: the broker or its management API does not answer, or the connection was lost.
        SecretsUnavailable: the credentials could not be read.
        ConfigurationError: the broker refuses the administrator.
    """
    deadline = time.monotonic() + seconds
    api = ManagementApi(console_url(settings), credentials(secrets, settings.broker_secret_arn))
    declared = api.names("queues", virtual_host(settings.broker_endpoints[0][0]))
    in_use = persist_queues(settings.persist_queues)
    former = [name for name in declared if name.startswith(PERSIST_PREFIX) and name not in in_use]
    if not former:
        return {}
    with blocking_connection(settings, secrets, CONNECT_SECONDS, HEARTBEAT_SECONDS) as connection:
        moved = {name: _move(connection, name, settings.persist_queues, deadline) for name in former}
    return {name: count for name, count in moved.items() if count}


def _move(connection: BlockingConnection, name: str, groups: Groups, deadline: float) -> int:
    depth = depth_of(connection, name)
    if not isinstance(depth, QueueDepth) or depth.consumers:
        return 0
    channel = connection.channel()
    channel.confirm_delivery()

    def publish(channel: BlockingChannel, properties: Any, body: bytes) -> str | None:
        return publish_again(channel, queue_instead(name, body, groups), properties, body)

    count = 0
    while time.monotonic() < deadline and move_one(channel, name, publish) is None:
        count += 1
    channel.close()
    return count
