"""EventBridge schedules: invoke a function at its times, with the scheduled event or its configured input."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from localstage.core.errors import StageError, TemplateError
from localstage.core.invoker import Functions
from localstage.core.model import Schedule
from localstage.triggers.cron import Timetable, parse_expression
from localstage.triggers.pacing import Reporter, Status, cancel, wind_up

RETRY_DELAYS = (60.0, 120.0)
"""EventBridge invokes asynchronously: Lambda tries twice more, after one and two minutes."""

STOP_SECONDS = 5.0
_LONGEST_SLEEP = 30.0
"""Seconds until a suspended machine or a changed clock is noticed, at most."""

_logger = logging.getLogger("localstage.triggers")


def build_event(schedule_id: str, time: datetime, region: str, account: str) -> bytes:
    """Return EventBridge's scheduled event."""
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": account,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [f"arn:aws:events:{region}:{account}:rule/{schedule_id}"],
        "detail": {},
    }
    return json.dumps(event).encode()


class ScheduleTrigger:
    """Runs one schedule while it is started. A disabled one does nothing.

    Raises:
        TemplateError: the expression cannot be read.
    """

    def __init__(
        self,
        schedule: Schedule,
        functions: Functions,
        *,
        region: str = "us-east-1",
        account: str = "123456789012",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        try:
            self._timetable: Timetable = parse_expression(schedule.expression)
        except ValueError as error:
            raise TemplateError(f"{schedule.id}: cannot run the schedule {schedule.expression}: {error}") from None
        self._schedule = schedule
        self._functions = functions
        self._region = region
        self._account = account
        self._clock = clock
        self._reporter = Reporter(_logger)
        self._status = Status(schedule.id, "schedule", schedule.expression, schedule.function_id)
        self._task: asyncio.Task[None] | None = None
        self._runs: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to wait for the next time."""
        if self._schedule.enabled and self._task is None:
            self._status.state = "running"
            self._task = asyncio.create_task(self._run(), name=f"schedule {self._schedule.id}")

    async def stop(self, grace: float = STOP_SECONDS) -> None:
        """Stop firing, and give a running invocation ``grace`` seconds."""
        if self._task is not None:
            await cancel(self._task)
        await wind_up(self._runs, grace)
        self._status.state = "stopped"

    def status(self) -> Status:
        """Return a snapshot."""
        return replace(self._status)

    async def _run(self) -> None:
        due = self._timetable.next_after(self._clock())
        while due is not None:
            await self._sleep_until(due)
            run = asyncio.create_task(self._fire(due))
            self._runs.add(run)
            run.add_done_callback(self._runs.discard)
            # Times that passed while the machine was suspended are skipped.
            due = self._timetable.next_after(max(due, self._clock()))
        self._status.state, self._status.trouble = "waiting", "its last time has passed"

    async def _sleep_until(self, due: datetime) -> None:
        while True:
            left = (due - self._clock()).total_seconds()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _LONGEST_SLEEP))

    async def _fire(self, due: datetime) -> None:
        schedule = self._schedule
        event = build_event(schedule.id, due, self._region, self._account)
        if schedule.input is not None:
            event = schedule.input.encode()
        self._status.batches += 1
        for delay in (*RETRY_DELAYS, None):
            error = await self._invoke(event)
            if error is None:
                self._status.records += 1
                return
            self._status.failures += 1
            self._reporter.warn("failed", f"{schedule.id}: {schedule.function_id} failed ({error})")
            if delay is not None:
                await asyncio.sleep(delay)

    async def _invoke(self, event: bytes) -> str | None:
        try:
            return (await self._functions.invoke(self._schedule.function_id, event)).error
        except StageError as error:
            return str(error)
        except KeyError:
            return "there is no such function"
