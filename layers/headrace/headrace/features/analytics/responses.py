"""Builds the answers of analytics from aggregates, each with its time and its accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NotRequired

from typing_extensions import TypedDict

from headrace.core import times
from headrace.core.fields import CanonicalTime
from headrace.features.analytics.aggregate import Aggregate, Points
from headrace.features.analytics.counter import STANDARD_ERROR
from headrace.features.analytics.generations import SETTLE_SECONDS
from headrace.features.analytics.requests import WindowRequest
from headrace.features.analytics.time_slots import Slot, Span

Bounds = TypedDict("Bounds", {"from": CanonicalTime, "to": CanonicalTime})
Window = TypedDict(
    "Window",
    {
        "from": CanonicalTime,
        "to": CanonicalTime,
        "roomId": NotRequired[str],
        "userId": NotRequired[str],
        "adId": NotRequired[str],
    },
)
Point = TypedDict("Point", {"from": CanonicalTime, "messages": int, "uniqueUsers": int})


class Missing(TypedDict):
    """The events that an answer may not count yet: those stored after a time."""

    storedAfter: CanonicalTime
    note: str


class Estimate(TypedDict):
    """The errors of an attribute's counts: the standard error of unique values, and the largest error of a count."""

    uniqueWithin: float
    countsTooLowByAtMost: int


class Accuracy(TypedDict):
    """Whether all numbers are exact, and the errors of each attribute whose numbers are estimates."""

    exact: bool
    userId: NotRequired[Estimate]
    roomId: NotRequired[Estimate]
    adId: NotRequired[Estimate]
    adType: NotRequired[Estimate]


class Answer(TypedDict):
    """The first fields of every answer."""

    window: Window
    asOf: CanonicalTime
    missing: Missing


class Rates(TypedDict):
    """Messages per second of the window, and between the first message and the last."""

    window: float
    active: float


class TopUser(TypedDict):
    """A user and their messages."""

    userId: str
    messages: int


class TopRoom(TypedDict):
    """A room and its messages."""

    roomId: str
    messages: int


class WindowAnswer(Answer):
    """Totals of a window."""

    totalMessages: int
    messagesPerSecond: Rates
    active: Bounds | None
    uniqueUsers: int
    topUsers: list[TopUser]
    topRooms: list[TopRoom]
    accuracy: Accuracy


class ActiveUsersAnswer(Answer):
    """Unique users of a window."""

    uniqueUsers: int
    accuracy: Accuracy


class SeriesAnswer(Answer):
    """A point for every step of a window, in seconds."""

    step: int
    points: list[Point]


def frame(request: WindowRequest, now: int) -> dict[str, Any]:
    """The first fields of every answer: the requested window, and which events may be missing."""
    as_of = times.iso(max(0, now - round(SETTLE_SECONDS * times.SECOND)))
    return {
        "window": {
            "from": times.iso(request.window.start),
            "to": times.iso(request.window.end),
            **dict(request.scope.narrowed),
        },
        "asOf": as_of,
        "missing": {"storedAfter": as_of, "note": "what was stored later may not be counted yet"},
    }


def window_body(request: WindowRequest, found: Aggregate) -> dict[str, Any]:
    """Totals, rates, unique users, and the top users and groups."""
    users, *groups = found.tallies
    user, *group_names = request.scope.attributes
    seconds = (request.window.end - request.window.start) / times.SECOND
    return {
        "totalMessages": found.total,
        "messagesPerSecond": {"window": _rate(found.total, seconds), "active": _rate(found.total, _active(found))},
        "active": {"from": found.first, "to": found.last} if found.total else None,
        "uniqueUsers": users.unique(),
        "topUsers": [{user: name, "messages": count} for name, count in users.top(request.top)],
        **{
            f"top{_plural(name)}": [{name: key, "messages": count} for key, count in tally.top(request.top)]
            for name, tally in zip(group_names, groups, strict=True)
        },
        "accuracy": accuracy(request, found),
    }


def active_users_body(request: WindowRequest, found: Aggregate) -> dict[str, Any]:
    """Unique users."""
    return {"uniqueUsers": found.tallies[0].unique(), "accuracy": accuracy(request, found)}


def accuracy(request: WindowRequest, found: Aggregate) -> dict[str, Any]:
    """``{"exact": true}``, or the errors of each attribute whose numbers are estimates."""
    if not any(tally.error for tally in found.tallies):
        return {"exact": True}
    body: dict[str, Any] = {"exact": False}
    for name, tally in zip(request.scope.attributes, found.tallies, strict=True):
        if tally.error:
            body[name] = {"uniqueWithin": round(STANDARD_ERROR, 4), "countsTooLowByAtMost": tally.error}
    return body


def series_points(request: WindowRequest, parts: Iterable[tuple[Slot, Aggregate]]) -> list[dict[str, Any]]:
    """One point per step of the window, empty ones too; ``parts`` are in the order of time."""
    step = request.step
    known: Points = {}
    for start, slots in groupby(parts, lambda part: None if part[0].step > step else part[0].start // step * step):
        merged = request.scope.nothing()
        for _, found in slots:
            if start is None:  # longer than a step: it lists the counts of its steps
                known.update(found.points[step])
            else:
                merged.merge(found)
        if start is not None:
            known[start] = (merged.total, merged.tallies[0].unique())
    return [
        {"from": times.iso(max(start * times.SECOND, request.window.start)), "messages": total, "uniqueUsers": users}
        for start in _starts(request.window, step)
        for total, users in [known.get(start, (0, 0))]
    ]


def by_step(request: WindowRequest, parts: Iterable[tuple[Slot, Aggregate]]) -> Iterator[tuple[int, Aggregate]]:
    """Each step of the window, empty ones too: its start (microseconds) and its aggregate.

    ``parts`` are in the order of time, and none is longer than a step.
    """
    step = request.step
    ahead = iter(parts)
    part = next(ahead, None)
    for start in _starts(request.window, step):
        found = request.scope.nothing()
        while part is not None and part[0].start < start + step:
            found.merge(part[1])
            part = next(ahead, None)
        yield max(start * times.SECOND, request.window.start), found


def _starts(window: Span, step: int) -> Sequence[int]:
    first = window.start // times.SECOND
    return range(first - first % step, -(-window.end // times.SECOND), step)


def _active(found: Aggregate) -> float:
    """Seconds from the first event to the last; at least one, because a single event has no duration."""
    if not found.total:
        return 1.0
    return max(1.0, (times.micros_of(found.last) - times.micros_of(found.first)) / times.SECOND)


def _rate(total: int, seconds: float) -> float:
    return round(total / seconds, 6)


def _plural(attribute: str) -> str:
    """``roomId`` as ``Rooms``, and ``adType`` as ``AdTypes``."""
    name = attribute.removesuffix("Id")
    return f"{name[0].upper()}{name[1:]}s"
