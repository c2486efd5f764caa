"""Finds the way of an event through the local stage in the logs of its functions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

STEPS = {
    "stored": "stored",
    "notStored": "not stored, to be tried again:",
    "notFollowedUp": "stored, but a follow-up failed:",
    "handedOver": "sent to the retry lane:",
    "poison": "can never be stored:",
    "dead": "dead:",
    "redriven": "redriven:",
    "discarded": "discarded:",
}
"""The properties of metric lines that count events by their requests, in the order of the steps."""
_NOW = timedelta()

COPIES = "copies"
"""The property of push_live: live copies by the correlation id of the lines that say stored."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line in the log of ``function``, as JSON; ``at`` is in UTC."""

    at: datetime
    function: str
    content: dict[str, Any]

    @property
    def correlation_id(self) -> str:
        """The id of the request, or of an invocation with several requests."""
        return str(self.content.get("correlation_id", ""))

    def names(self, field: str, ids: Iterable[str]) -> bool:
        """Whether the property ``field`` has one of ``ids``."""
        return not set(ids).isdisjoint(self.of(field))

    def of(self, field: str) -> dict[str, Any]:
        """The counts by id in the property ``field``; none where it is a number, as in an operator's audit line."""
        found = self.content.get(field)
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Step:
    """What a function did with events of the request."""

    at: datetime
    function: str
    text: str


def trace(logs: Path, wanted: str) -> list[Step]:
    """The steps of the request, or of the request of the event, with the id ``wanted``, in the order of time.

    Live copies are of a whole batch, so they are found by the id of the invocation that stored the event.
    """
    found = list(_lines(logs, {wanted}))
    requests = {line.correlation_id for line in found if line.names("ids", [wanted]) or line.names("events", [wanted])}
    requests = {each for each in requests if each} or {wanted}
    found = list(_lines(logs, requests))
    batches = {line.correlation_id for line in found if line.names("stored", requests)} | requests
    found += [line for line in _lines(logs, batches - requests) if line.names(COPIES, batches) and line not in found]
    steps = [
        Step(line.at - before, line.function, text)
        for line in found
        for before, text in [*_publishing(line, requests), *((_NOW, text) for text in _texts(line, requests, batches))]
    ]
    return sorted(steps, key=lambda step: step.at)


def _lines(logs: Path, ids: set[str]) -> Iterator[Line]:
    """The lines with one of ``ids`` in them, of all logs and those before."""
    if not ids:
        return
    quoted = [json.dumps(each)[1:-1] for each in ids]
    for path in sorted(logs.glob("*.log*")):
        with path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                if text.startswith("{") and any(each in text for each in quoted):
                    line = _line(path.name.partition(".")[0], text)
                    if line is not None:
                        yield line


def _line(function: str, text: str) -> Line | None:
    try:
        content = json.loads(text)
        stamp = content.get("_aws", {}).get("Timestamp")
        if stamp is not None:
            return Line(datetime.fromtimestamp(stamp / 1000, UTC), function, content)
        at = datetime.strptime(content["timestamp"], "%Y-%m-%d %H:%M:%S,%f%z")
        return Line(at.astimezone(UTC), function, content)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # a line that was cut, or of another program


def _publishing(line: Line, requests: set[str]) -> Iterator[tuple[timedelta, str]]:
    """The steps before an event of the main lane was confirmed, and how long before."""
    content = line.content
    if line.correlation_id in requests and content.get("lane") == "main" and "Accepted" in content:
        for name, text in (("PublishSeconds", "received"), ("ConfirmSeconds", "published")):
            if content.get(name):
                yield timedelta(seconds=max(content[name])), text


def _texts(line: Line, requests: set[str], batches: set[str]) -> Iterator[str]:
    content, stream = line.content, str(line.content.get("stream", ""))
    lane = f", lane {content['lane']}" if "lane" in content else ""
    if "Accepted" in content and line.correlation_id in requests:
        yield f"accepted {_events(sum(content['Accepted']), stream)}{lane}"
    for field, words in STEPS.items():
        counted = Counter(line.of(field))
        count = sum(counted[each] for each in requests)
        if count:
            reason = f", {content['reason']}" if "reason" in content else ""
            yield f"{words} {_events(count, stream)}{lane}{reason}"
    if line.names(COPIES, batches):
        yield f"live copies of the batch: {int(sum(content['LivePushed']))} {content.get('verdict')}"
    if "message" in content and line.correlation_id in requests:
        attempt = f" (attempt {content['attempt']})" if "attempt" in content else ""
        yield f"{str(content.get('level', '')).lower()}: {content['message']}{attempt}"


def _events(count: float, stream: str) -> str:
    return f"{int(count)} {stream} event{'' if count == 1 else 's'}".replace("  ", " ")
