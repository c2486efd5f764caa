"""The names of operations and of results: generators make methods and classes of them."""

from __future__ import annotations

import re

from tools.api_reference.routes import TITLES, Declared
from tools.api_reference.texts import table

OPERATION_IDS = table("operations")
"""The name of each HTTP route's operation, in the order of the reference. Clients call it, so it stays as it is when a
function is renamed."""
EVENTS = {"chat": "Message", "ski": "Ride", "ads": "Click"}
"""What an event of each stream is called."""


def operation_id(route: Declared) -> str:
    """The name of a route's operation; until it has one, made of its method and path."""
    words = re.findall(r"[A-Za-z]+", route.path)
    return OPERATION_IDS.get(route.key) or route.method + "".join(word[0].upper() + word[1:] for word in words)


def title(area: str) -> str:
    """The title of an area; until it has one, made of its name."""
    return TITLES.get(area, area.capitalize())


def event_name(route: Declared) -> str:
    """What an event of the route is called, as a part of the names of schemas."""
    return EVENTS.get(route.area, route.area.capitalize())
