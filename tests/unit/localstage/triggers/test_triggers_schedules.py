"""Schedules invoke their function."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from localstage.core.invoker import Invocation
from localstage.core.model import Schedule
from localstage.triggers.schedules import ScheduleTrigger, next_time

EVE = datetime(2026, 11, 20, 11, 59, 59, 900_000, tzinfo=UTC)


class Functions:
    def __init__(self) -> None:
        self.events: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    async def invoke(self, function_id: str, event: bytes, *, dedicated_to: str | None = None) -> Invocation:
        self.events.put_nowait((function_id, event))
        return Invocation(b"null")


async def test_a_schedule_fires_with_its_event_and_skips_times_of_a_suspension():
    functions, times = Functions(), [EVE, EVE, EVE + timedelta(hours=8, seconds=1)]
    trigger = ScheduleTrigger(
        Schedule("HealTopology", "DeclareTopology", "cron(* * * * ? *)"),
        functions,
        region="eu-north-1",
        clock=lambda: times.pop(0) if len(times) > 1 else times[0],
    )
    await trigger.start()
    function_id, event = await functions.events.get()
    for _ in range(20):
        await asyncio.sleep(0)
    await trigger.stop()

    assert functions.events.empty()
    assert function_id == "DeclareTopology"
    shape = json.loads(event)
    assert len(shape.pop("id")) == 36
    assert shape == {
        "version": "0",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "123456789012",
        "time": "2026-11-20T12:00:00Z",
        "region": "eu-north-1",
        "resources": ["arn:aws:events:eu-north-1:123456789012:rule/HealTopology"],
        "detail": {},
    }
    assert trigger.status().records == 1


@pytest.mark.parametrize(
    ("expression", "at"),
    [
        ("rate(1 minute)", "2026-11-20 12:00:59"),
        ("rate(5 minutes)", "2026-11-20 12:04:59"),
        ("rate(7 days)", "2026-11-27 11:59:59"),
        ("cron(* * * * ? *)", "2026-11-20 12:00:00"),
    ],
)
def test_an_expression_fires_at_the_times_of_eventbridge(expression: str, at: str) -> None:
    assert f"{next_time(expression, EVE):%Y-%m-%d %H:%M:%S}" == at


@pytest.mark.parametrize(
    "expression",
    ["rate(1 minutes)", "rate(5 minute)", "cron(0 12 ? * MON *)"],
)
def test_an_expression_that_eventbridge_or_the_stage_does_not_run_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="the stage runs rate"):
        next_time(expression, EVE)
