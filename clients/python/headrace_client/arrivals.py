"""What comes over a connection, to loop over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar

from .errors import HeadraceError

Item = TypeVar("Item")
END = object()


class Arrivals(Generic[Item]):
    """Keeps what :meth:`put` takes for a loop. The loop ends, with an error if there is one, after :meth:`end`."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._error: HeadraceError | None = None

    def put(self, item: Item) -> None:
        """Let the loop take ``item``."""
        self._queue.put_nowait(item)

    def end(self, error: HeadraceError | None) -> None:
        """Let the loop end; without an error the program has closed the client."""
        self._error = error
        self._queue.put_nowait(END)

    async def __aiter__(self) -> AsyncIterator[Item]:
        while (item := await self._queue.get()) is not END:
            yield item
        self._queue.put_nowait(END)  # another loop ends too
        if self._error is not None:
            raise self._error
