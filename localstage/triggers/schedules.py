"""EventBridge schedules: invoke a function at its times, with the scheduled event."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from localstage.core.errors import StageError, TemplateError
from localstage.core.invoker import Functions
from localstage.core.model import ACCOUNT, Schedule
from localstage.triggers.pacing import Status, Trigger, wind_up

STOP_SECONDS = 5.0
EVERY_MINUTE = "cron(* * * * ? *)"
_RATE = re.compile(r"rate\((?:(1) (minute|hour|day)|(?!1 )([1-9]\d*) (minute|hour|day)s)\)")


def next_time(expression: str, after: datetime) -> datetime:
    """The first time after ``after`` (in UTC) of a rate, or the next whole minute.

    Raises:
        ValueError: the expression is another one; the message shows those that the stage runs.
    """
    if expression == EVERY_MINUTE:
        return after.replace(second=0, microsecond=0) + timedelta(minutes=1)
    if rate := _RATE.fullmatch(expression):
        number, unit = (group for group in rate.groups() if group)
        return after + int(number) * timedelta(**{f"{unit}s": 1})
    raise ValueError(f"the stage runs rate(5 minutes) and {EVERY_MINUTE}")


def build_event(schedule_id: str, time: datetime, region: str) -> bytes:
    """Return EventBridge's scheduled event."""
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [f"arn:aws:events:{region}:{ACCOUNT}:rule/{schedule_id}"],
        "detail": {},
    }
    return json.dumps(event).encode()


class ScheduleTrigger(Trigger):
    """Runs one schedule while it is started.

    Raises:
        TemplateError: the expression cannot be read.
    """

    def __init__(
        self,
        schedule: Schedule,
        functions: Functions,
        *,
        region: str = "us-east-1",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        try:
            next_time(schedule.expression, clock())
        except ValueError as error:
            raise TemplateError(f"{schedule.id}: cannot run the schedule {schedule.expression}: {error}") from None
        super().__init__(Status(schedule.id, "schedule", schedule.expression, schedule.function_id))
        self._schedule = schedule
        self._functions = functions
        self._region = region
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._runs: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to wait for the next time."""
        if self._task is None:
            self._status.state = "running"
            self._task = asyncio.create_task(self._run(), name=f"schedule {self._schedule.id}")

    async def stop(self, grace: float = STOP_SECONDS) -> None:
        """Stop firing, and give a running invocation ``grace`` seconds."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await wind_up(self._runs, grace)
        self._status.state = "stopped"

    async def _run(self) -> None:
        due = next_time(self._schedule.expression, self._clock())
        while True:
            await asyncio.sleep((due - self._clock()).total_seconds())
            run = asyncio.create_task(self._fire(due))
            self._runs.add(run)
            run.add_done_callback(self._runs.discard)
            # Times that passed while the machine was suspended are skipped.
            due = next_time(self._schedule.expression, max(due, self._clock()))

    async def _fire(self, due: datetime) -> None:
        schedule = self._schedule
        event = build_event(schedule.id, due, self._region)
        self._status.batches += 1
        error = await self._invoke(event)
        if error is None:
            self._status.records += 1
        else:
            self._status.failures += 1
            self._reporter.warn("failed", f"{schedule.id}: {schedule.function_id} failed ({error})")

    async def _invoke(self, event: bytes) -> str | None:
        try:
            return (await self._functions.invoke(self._schedule.function_id, event)).error
        except StageError as error:
            return str(error)
