"""An event source mapping of a table's stream: batches in the order of changes, tried until they succeed or are old."""

from __future__ import annotations

import asyncio
import math
import time
import zlib
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from localstage.core.atomic_write import write_atomically
from localstage.core.errors import StageError
from localstage.core.invoker import Functions
from localstage.core.model import StreamMapping
from localstage.triggers.pacing import Backoff, Status, Trigger, pause, wind_up
from localstage.triggers.sqs_event import failed_ids
from localstage.triggers.sqs_queue import QueueUnavailable, SqsQueue
from localstage.triggers.table_stream import (
    AT_ONCE,
    Record,
    StreamUnavailable,
    TableStream,
    build_event,
    build_failure,
    number_of,
    partition_of,
    time_of,
)

IDLE_SECONDS = 0.25
"""Lambda asks each shard four times a second."""
SAVE_SECONDS = 1.0
STOP_SECONDS = 5.0
EVENT_BYTES = 4_000_000
"""At most so many bytes of changes are in one event: Lambda takes 6 MB."""


class Checkpoint:
    """How far a stream was handled: every record up to ``number``. Kept in a file, as Lambda keeps it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.number = path.read_text() if path.exists() else ""
        self._order: deque[str] = deque()
        self._done: set[str] = set()
        self._saved = time.monotonic()

    def expect(self, number: str) -> None:
        """A record will be handled, after all those before it."""
        self._order.append(number)

    def finish(self, number: str) -> None:
        """A record was handled."""
        self._done.add(number)
        while self._order and self._order[0] in self._done:
            self.number = self._order.popleft()
            self._done.remove(self.number)
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Write the file. Records after it are handled again if the stage ends before the next time."""
        write_atomically(self._path, self.number)
        self._saved = time.monotonic()


class StreamTrigger(Trigger):
    """Feeds the stream of a table to a function, in ``lanes`` that are each in order.

    Changes of one partition key are in one lane. A batch that fails is tried again, from the first record that the
    function names, until it succeeds or is older than the mapping's maximum age. Then ``failures`` is told where it is.
    """

    def __init__(
        self,
        mapping: StreamMapping,
        functions: Functions,
        stream: TableStream,
        checkpoint: Checkpoint,
        failures: SqsQueue | None = None,
    ) -> None:
        super().__init__(Status(mapping.id, "stream", mapping.table_id, mapping.function_id))
        self._mapping = mapping
        self._functions = functions
        self._stream = stream
        self._checkpoint = checkpoint
        self._failures = failures
        self._changed = asyncio.Event()
        self._handled = asyncio.Event()
        self._lanes: list[deque[Record]] = [deque() for _ in range(mapping.lanes)]
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to read in the background; returns at once, also when the stream is unavailable."""
        if self._tasks:
            return
        self._status.state = "starting"
        self._tasks = {asyncio.create_task(self._poll(), name=f"trigger {self._mapping.id}")}
        self._tasks |= {asyncio.create_task(self._work(lane)) for lane in self._lanes}

    async def stop(self) -> None:
        """Begin no further batch, and give running ones 5 s; others are read again at the next start."""
        self._stopping.set()
        self._changed.set()
        self._handled.set()
        await wind_up(self._tasks, STOP_SECONDS)
        self._stream.close()
        with suppress(StageError):  # the folder may be gone
            self._checkpoint.save()
        self._status.state = "stopped"

    async def _poll(self) -> None:
        backoff, after, is_open = Backoff(0.2, 5.0), self._checkpoint.number, False
        while not self._stopping.is_set():
            try:
                if not is_open:
                    await self._stream.open(after)
                    is_open = True
                records = await self._stream.read()
                self._running()
                backoff.reset()
            except StreamUnavailable as error:
                is_open = False
                self._trouble(str(error))
                await pause(self._stopping, backoff.next())
                continue
            for record in records:
                after = number_of(record)
                self._checkpoint.expect(after)
                if self._mapping.event_names and record["eventName"] not in self._mapping.event_names:
                    self._checkpoint.finish(after)
                    continue
                lane = zlib.crc32(partition_of(record).encode()) % len(self._lanes)
                self._lanes[lane].append(record)
            self._changed.set()
            if not records:
                await pause(self._stopping, IDLE_SECONDS)
            while sum(map(len, self._lanes)) >= AT_ONCE and not self._stopping.is_set():
                self._handled.clear()
                await self._handled.wait()

    async def _work(self, lane: deque[Record]) -> None:
        """Handle the batches of one lane, one after the other."""
        backoff, size = Backoff(0.2, 5.0), self._mapping.batch_size
        while not self._stopping.is_set():
            if not lane:
                self._changed.clear()
                await self._changed.wait()
                continue
            batch = self._first(lane, size)
            done = await self._handle(batch)
            for record in batch[:done]:
                lane.popleft()
                self._checkpoint.finish(number_of(record))
            self._handled.set()
            self._status.records += done
            self._status.batches += 1
            if done == len(batch):
                backoff.reset()
                size = self._mapping.batch_size
                continue
            if self._mapping.bisects and not done:
                size = max(1, len(batch) // 2)
            self._status.failures += 1
            await self._give_up_old(lane)
            await pause(self._stopping, backoff.next())

    def _first(self, lane: Sequence[Record], most: int) -> list[Record]:
        batch: list[Record] = []
        size = 0
        for record in lane:
            size += int(record["dynamodb"]["SizeBytes"])
            if batch and (len(batch) == most or size > EVENT_BYTES):
                break
            batch.append(record)
        return batch

    async def _handle(self, batch: Sequence[Record]) -> int:
        """Invoke the function; how many records, from the first on, need not be tried again."""
        mapping, numbers, failed = self._mapping, [number_of(record) for record in batch], set[str]()
        try:
            result = await self._functions.invoke(mapping.function_id, build_event(batch, self._stream.arn))
            reason = result.error
            if reason is None and mapping.partial_response:
                failed = failed_ids(result.payload, set(numbers))
        except StageError as error:
            reason = str(error)
        first = next((at for at, number in enumerate(numbers) if number in failed), len(batch))
        done = 0 if reason else first
        if done < len(batch):
            left = f"{len(batch) - done} records of {mapping.table_id} are tried again"
            why = reason or "partial response"
            self._reporter.warn("failed", f"{mapping.id}: {mapping.function_id} failed ({why}); {left}")
        return done

    async def _give_up_old(self, lane: deque[Record]) -> None:
        oldest = time.time() - (self._mapping.maximum_age or math.inf)
        if not (old := [record for record in lane if time_of(record) < oldest]):
            return
        failure = build_failure(old, self._stream.arn, self._stream.shard, self._mapping.function_id)
        try:
            if self._failures is not None:
                await self._failures.send(failure)
        except QueueUnavailable as error:
            self._reporter.warn("given up", f"{self._mapping.id}: {error}; {len(old)} old records are kept")
            return
        for record in old:
            lane.popleft()
            self._checkpoint.finish(number_of(record))
