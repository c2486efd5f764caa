"""Processes that crash before, during or after any of their calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

When = Literal["before", "halfway", "after"]


class Crash(BaseException):
    """The process ends: no ``except Exception`` in it catches this."""


@dataclass
class Fuse:
    """Ends the process at the ``calls``-th call from now; 0: never."""

    calls: int = 0
    when: When = "before"

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``function``, unless the process ends before it."""
        if not self.calls:
            return function(*arguments)
        self.calls -= 1
        if self.calls:
            return function(*arguments)
        if self.when == "after":
            function(*arguments)
        if self.when == "halfway" and isinstance(arguments[-1], list):
            *rest, items = arguments
            function(*rest, items[: len(items) // 2])
        raise Crash


class Mortal:
    """``target``, called by a process that may end."""

    def __init__(self, target: object, fuse: Fuse) -> None:
        self._target = target
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._target, name)
        return partial(self._fuse.call, member) if callable(member) else member
