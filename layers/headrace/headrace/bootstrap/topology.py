"""Builds what declares the broker's topology."""

from __future__ import annotations

import functools

from headrace.queues.brokers import each_broker
from headrace.queues.rabbitmq.former_queues import empty_former_queues
from headrace.queues.rabbitmq.topology import Report, declare
from headrace.queues.rabbitmq.topology_resource import MOVING_SECONDS, declare_all, declare_each
from headrace.queues.rabbitmq.users import BrokerUsersSettings, ensure_users
from headrace.runtime.settings import BrokerSettings
from headrace.services.shared import secrets


def declare_topology(seconds: float) -> Report:
    """Declare each broker's exchanges, queues and users. A setting that is missing fails what needs it."""
    brokers = each_broker(BrokerSettings.read())

    def declare_one(number: int, left: float) -> Report:
        def administrator() -> BrokerUsersSettings:
            return each_broker(BrokerUsersSettings.read())[number]

        return declare_all(
            lambda left: declare(brokers[number], secrets(), seconds=left),
            lambda left: ensure_users(administrator(), secrets(), seconds=left),
            lambda: empty_former_queues(administrator(), secrets(), MOVING_SECONDS / len(brokers)),
            left,
        )

    return declare_each([functools.partial(declare_one, number) for number in range(len(brokers))], seconds)
