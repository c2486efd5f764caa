"""Several brokers that do not know one another: the settings of each, and the names of their queues for operators."""

from __future__ import annotations

from typing import Any, TypeVar

from headrace.runtime.settings import BrokerSettings

S = TypeVar("S", bound=BrokerSettings)

LOST_BROKER = "broker "
"""How the name of a broker begins whose queues cannot be asked; its number follows."""


def each_broker(settings: S) -> list[S]:
    """``settings`` with one broker alone, for each broker."""
    alone = []
    for number, nodes in enumerate(settings.broker_endpoints):
        update: dict[str, Any] = {"broker_endpoints": (nodes,)}
        if urls := getattr(settings, "broker_console_urls", ()):
            update["broker_console_urls"] = urls[number : number + 1]
        alone.append(settings.model_copy(update=update))
    return alone


def beginning_at(settings: S, number: int) -> S:
    """``settings`` with the brokers from ``number`` (from 0, modulo their number) on, then those before it."""
    brokers = settings.broker_endpoints
    at = number % len(brokers)
    return settings.model_copy(update={"broker_endpoints": brokers[at:] + brokers[:at]})


def at_broker(name: str, number: int) -> str:
    """A queue of broker ``number`` (from 1) as operators see it. Those of the first have their plain names."""
    return name if number == 1 else f"{name} of broker {number}"
