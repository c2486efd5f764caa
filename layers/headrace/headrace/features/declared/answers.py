"""Answers of the routes that read declared streams."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from headrace.core.fields import Cursor
from headrace.features.analytics.responses import Accuracy, Answer, Bounds


class Description(TypedDict):
    """A declared stream: the ``key`` of its events, what windows group by and sum, and the JSON schema of an event.

    ``user`` is the field of its users. Rows are kept for ``keepDays``, or without limit if that is 0.
    """

    name: str
    text: str
    key: str
    user: NotRequired[str]
    counts: list[str]
    sums: list[str]
    keepDays: int
    senders: str
    schema: dict[str, Any]


class Descriptions(TypedDict):
    """The declared streams, by name."""

    items: list[Description]


class EventPage(TypedDict):
    """A page of events, newest first. An item has ``key``, ``eventId``, ``timestamp``, and the fields of its event."""

    items: list[dict[str, Any]]
    next: Cursor | None
    previous: Cursor | None
    hasMore: bool


class SumBody(TypedDict):
    """The exact sum of a field over the events that have it, their mean, the least and the most."""

    events: int
    sum: float
    mean: float | None
    min: float | None
    max: float | None


class EventWindow(Answer):
    """Totals of a window: by user, by each field that is counted, and the sums. Lists have the largest first."""

    events: int
    active: Bounds | None
    uniqueUsers: NotRequired[int]  # noqa: N815 - as in answers
    topUsers: NotRequired[list[dict[str, Any]]]  # noqa: N815
    top: dict[str, list[dict[str, Any]]]
    sums: dict[str, SumBody]
    accuracy: Accuracy


class EventTop(Answer):
    """The values of the field ``by`` with the most events of a window."""

    events: int
    by: str
    items: list[dict[str, Any]]
    accuracy: Accuracy


class EventSeries(Answer):
    """A point for every step of a window, in seconds: its start, events, and unique users."""

    step: int
    points: list[dict[str, Any]]
