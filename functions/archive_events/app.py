"""Archives what was stored, from the streams of the tables, and tidies the archive each hour."""

from __future__ import annotations

from typing import Any

from headrace.features.archive.archiver import archiver
from headrace.features.archive.tidier import tidier


def handler(event: dict[str, Any], context: Any) -> None:
    """Archive the batch, or tidy if the schedule asks. A batch that fails comes again."""

    def remaining() -> float:
        return float(context.get_remaining_time_in_millis()) / 1000

    if "Records" in event:
        archiver().archive(event, context.aws_request_id)
    else:
        tidier().run(remaining)
