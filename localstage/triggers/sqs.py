"""An SQS event source mapping: long polls, parallel batches, deletes what succeeded and leaves the rest to SQS."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from localstage.core.errors import RecursiveInvocation, StageError
from localstage.core.invoker import Functions
from localstage.core.model import SqsMapping
from localstage.triggers.pacing import Backoff, Status, Trigger, pause, wind_up
from localstage.triggers.sqs_event import Message, build_event, failed_ids, trace_of
from localstage.triggers.sqs_queue import LONG_POLL, QueueUnavailable, SqsQueue

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

DEFAULT_CONCURRENCY = 5
STOP_SECONDS = 5.0
RELEASE_SECONDS = 2.0


class SqsTrigger(Trigger):
    """Feeds one queue to one function, up to ``maximum_concurrency`` (default 5) batches at a time.

    Without an error the batch is deleted, except the messages that a partial batch response names. What is not
    deleted becomes visible again by the queue's own timeout, and its receive count by SQS moves it to the dead-letter
    queue: this trigger decides neither. ``client_factory`` runs once, in a thread.
    """

    def __init__(
        self,
        mapping: SqsMapping,
        functions: Functions,
        *,
        queue_url: str,
        queue_arn: str,
        client_factory: Callable[[], SQSClient],
    ) -> None:
        super().__init__(Status(mapping.id, "sqs", mapping.queue_id, mapping.function_id))
        self._mapping = mapping
        self._functions = functions
        self._arn = queue_arn
        self._queue = SqsQueue(queue_url, client_factory)
        self._concurrency = mapping.maximum_concurrency or DEFAULT_CONCURRENCY
        self._refused = Backoff(0.2, 5.0)
        self._refused_pause = 0.0
        self._poller: asyncio.Task[None] | None = None
        self._batches: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to poll in the background; returns at once, also when the queue is unavailable."""
        if self._poller is not None:
            return
        self._status.state = "starting"
        self._poller = asyncio.create_task(self._poll(), name=f"trigger {self._mapping.id}")

    async def stop(self, grace: float = STOP_SECONDS) -> None:
        """Begin no further batch and give running ones ``grace`` seconds; other messages become visible again."""
        self._stopping.set()
        if self._poller is not None:
            # A cancelled receive would keep its messages invisible.
            await wind_up({self._poller}, LONG_POLL + RELEASE_SECONDS)
        await wind_up(self._batches, grace)
        self._queue.close()
        self._status.state = "stopped"

    async def _poll(self) -> None:
        backoff = Backoff(0.2, 5.0)
        while not self._stopping.is_set():
            try:
                await self._free_slot()
                await self._fill_slots()
                backoff.reset()
            except Exception as error:  # noqa: BLE001 - it is in the log and in the status; the mapping goes on
                away = isinstance(error, QueueUnavailable)
                self._trouble(str(error) if away else f"{type(error).__name__}: {error}")
                await pause(self._stopping, backoff.next())
            if self._refused_pause:
                await pause(self._stopping, self._refused_pause)

    async def _free_slot(self) -> None:
        while len(self._batches) >= self._concurrency:
            await asyncio.wait(self._batches, return_when=asyncio.FIRST_COMPLETED)

    async def _fill_slots(self) -> None:
        """Receive one batch and hand it to the function."""
        # The first receive does not wait, so that an unavailable queue is noticed before the first record.
        seconds = LONG_POLL if self._status.state == "running" else 0
        messages = await self._queue.receive(self._mapping.batch_size, seconds)
        self._running()
        if self._stopping.is_set():
            await self._release(messages)
        elif messages:
            task = asyncio.create_task(self._handle(messages))
            self._batches.add(task)
            task.add_done_callback(self._ended)

    async def _release(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        with suppress(QueueUnavailable, TimeoutError):  # they return anyway, after their visibility timeout
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._queue.release(messages)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._batches.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._reporter.warn("batch", f"{self._mapping.id}: {type(error).__name__}: {error}")

    async def _handle(self, messages: Sequence[Message]) -> None:
        ids = {str(message["MessageId"]) for message in messages}
        failed = await self._invoke(build_event(messages, self._arn), ids, trace_of(messages))
        done = [message for message in messages if message["MessageId"] not in failed]
        self._status.batches += 1
        self._status.records += len(done)
        if failed:
            self._status.failures += 1
        if done:
            await self._delete(done)

    async def _invoke(self, event: bytes, ids: set[str], trace: str) -> set[str]:
        """Return the ids of the messages that stay in the queue."""
        mapping = self._mapping
        try:
            result = await self._functions.invoke(mapping.function_id, event, trace=trace)
        except RecursiveInvocation as error:
            self._failed(str(error), len(ids))
            return ids
        except StageError as error:
            # The messages are not the cause. Without a pause, the whole queue would use up its receive counts.
            self._refused_pause = self._refused.next()
            self._failed(str(error), len(ids))
            return ids
        self._refused.reset()
        self._refused_pause = 0.0
        if result.error is not None:
            self._failed(result.error, len(ids))
            return ids
        return failed_ids(result.payload, ids) if mapping.partial_response else set()

    def _failed(self, reason: str, count: int) -> None:
        mapping = self._mapping
        self._reporter.warn(
            "failed",
            f"{mapping.id}: {mapping.function_id} failed ({reason}); {count} records stay in {mapping.queue_id}",
        )

    async def _delete(self, done: Sequence[Message]) -> None:
        try:
            kept = await self._queue.delete(done)
        except QueueUnavailable as error:
            kept = len(done)
            self._trouble(str(error))
        if kept:
            self._reporter.warn(
                "delete", f"{self._mapping.id}: {kept} records could not be deleted and will be received again"
            )
