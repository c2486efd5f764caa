"""Collects RabbitMQ records until a batch closes: by number, by time from the first record, or by 6 MB."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from localstage.triggers.rabbitmq_event import EVENT_LIMIT, build_event, event_size


class Batch(NamedTuple):
    """One event, and the tags of its records in their order."""

    event: bytes
    tags: list[int]


class _Waiting(NamedTuple):
    tag: int
    record: bytes
    arrived: float


class Inbox:
    """Records of one consumer in order of arrival. ``window`` is in seconds; 0 takes the waiting records at once."""

    def __init__(self, start: bytes, batch_size: int, window: float) -> None:
        self._start = start
        self._batch_size = batch_size
        self._window = window
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0
        self._ended = False
        self._any = asyncio.Event()
        self._full = asyncio.Event()
        self._now = asyncio.get_running_loop().time

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, tag: int, record: bytes) -> None:
        """Append a record. It must fit into one event."""
        self._waiting.append(_Waiting(tag, record, self._now()))
        self._bytes += len(record)
        # Most of the speed results from waking the reader once per batch instead of once per record.
        if not self._any.is_set():
            self._any.set()
        if not self._full.is_set() and self._is_full():
            self._full.set()

    def end(self) -> None:
        """Make ``next_batch`` return ``None``; waiting records return to the queue when the channel closes."""
        self._ended = True
        self._any.set()
        self._full.set()

    async def next_batch(self) -> Batch | None:
        """Return the next batch when it closes, or ``None`` at the end."""
        await self._any.wait()
        if not self._ended:
            await self._wait_for_window(self._waiting[0].arrived + self._window)
        return None if self._ended else self._take()

    async def _wait_for_window(self, deadline: float) -> None:
        if deadline <= self._now():
            return
        try:
            async with asyncio.timeout_at(deadline):
                await self._full.wait()
        except TimeoutError:
            return

    def _is_full(self) -> bool:
        count = len(self._waiting)
        return count >= self._batch_size or event_size(self._start, count, self._bytes) >= EVENT_LIMIT

    def _take(self) -> Batch:
        records: list[bytes] = []
        tags: list[int] = []
        size = 0
        while self._waiting and len(records) < self._batch_size:
            waiting = self._waiting[0]
            if records and event_size(self._start, len(records) + 1, size + len(waiting.record)) > EVENT_LIMIT:
                break
            tags.append(waiting.tag)
            size += len(waiting.record)
            records.append(waiting.record)
            self._waiting.popleft()
        self._bytes -= size
        if not self._waiting:
            self._any.clear()
        if not self._is_full():
            self._full.clear()
        return Batch(build_event(self._start, records), tags)
