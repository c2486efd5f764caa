"""The context and the route key of a function's requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.api.router import Route


class Context:
    """Lambda's context of an invocation with ``seconds`` left."""

    def __init__(self, seconds: float = 1000) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return round(self._seconds * 1000)


def key_of(routes: Mapping[str, Route], function: Callable[..., Any]) -> str:
    """The key of the route that ``function`` answers."""
    return next(key for key, route in routes.items() if route.function is function)
