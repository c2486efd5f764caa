"""Hooks that belong to one stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.persist.row_writer import AfterStore, Reason


class StreamHook:
    """Passes the stored rows of the stream named ``name`` to a hook, which is built when the first of them comes."""

    def __init__(self, name: str, build: Callable[[], AfterStore]) -> None:
        self._name = name
        self._build = build
        self._hook: AfterStore | None = None

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[Reason | None]:
        """One outcome per item, in order; items of other streams have none."""
        if stream.name != self._name:
            return [None] * len(items)
        if self._hook is None:
            self._hook = self._build()
        return self._hook.stored(stream, items)
