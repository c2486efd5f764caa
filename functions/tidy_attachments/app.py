"""Deletes the files of messages that have expired, once a day."""

from __future__ import annotations

from typing import Any

from headrace.bootstrap.attachments import attachment_tidier


def handler(event: dict[str, Any], context: Any) -> None:
    """Read the bucket, and delete what has expired."""
    attachment_tidier().run(lambda: float(context.get_remaining_time_in_millis()) / 1000)
