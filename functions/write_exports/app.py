"""Runs exports in slices, from the queue of exports."""

from __future__ import annotations

from typing import Any

from headrace.features.people.exports.slices import exporter
from headrace.features.people.exports.tasks import Task
from headrace.features.people.sqs import read_task


def handler(event: dict[str, Any], context: Any) -> None:
    """Run the slice in the batch, which has one message. If it fails, SQS delivers it again."""

    def remaining() -> float:
        return float(context.get_remaining_time_in_millis()) / 1000

    for record in event["Records"]:
        exporter().run(read_task(record["body"], Task), remaining)
