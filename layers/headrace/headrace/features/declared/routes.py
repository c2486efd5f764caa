"""The routes that read declared streams: what they are, pages of events, and windows of time."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, create_model
from pydantic.alias_generators import to_camel

from headrace.api.paging.pager import Page, plain_page
from headrace.api.paging.request import PageRequest
from headrace.api.params import AnyBody, UserPath, read
from headrace.api.router import Request
from headrace.core import keys
from headrace.core.caller import ANALYTICS_READ
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.core.fields import StoredId
from headrace.core.stream import Index, Stream
from headrace.features.analytics import responses
from headrace.features.analytics.aggregate import Aggregate, Sum
from headrace.features.analytics.reading import analytics_of
from headrace.features.analytics.requests import StepQuery, TopQuery, WindowQuery, WindowRequest, filtered
from headrace.features.analytics.windows import Analytics, deadline
from headrace.features.declared.folder import events
from headrace.features.declared.openapi import Document, document
from headrace.features.declared.reading import EventColumns, IndexReader
from headrace.features.declared.stream import TIME, TIME_INDEX, USER, USER_INDEX, Events, shown
from headrace.features.declared.streams import StreamPath, stream_named
from headrace.runtime.settings import table_settings
from headrace.services.requests import cursors
from headrace.services.shared import range_reader
from headrace.storage.merged_reader import MergedReader
from headrace.storage.reading import RangeQuery, RangeReader

STREAMS_AT_ONCE = 8
"""Streams of which an environment keeps counts in memory, up to 16 MB for each."""


class StreamUserPath(UserPath, StreamPath):
    """A user of a declared stream."""


class EventsQuery(AnyBody, PageRequest):
    """A page of events: of one key, which the parameter has that is named as the key, or of all."""


class EventWindowQuery(AnyBody, TopQuery):
    """A window, filtered by the fields that are counted and by ``userId``, as parameters with these names."""


class EventTopQuery(EventWindowQuery):
    """A window, and the field whose values are listed, which is counted: the key, one of ``counts``, or ``userId``."""

    by: str | None = Field(default=None, description="the name of a field that is counted, by default the key")


class EventUsersQuery(AnyBody, WindowQuery):
    """A window, filtered as a window is."""


class EventSeriesQuery(AnyBody, StepQuery):
    """A window, filtered as a window is, and the seconds of each of its steps."""


StreamRequest = Request[StreamPath, None, None] | Request[StreamUserPath, PageRequest, None]


@dataclass(frozen=True)
class Reading:
    """What the routes of one declared stream use."""

    events: Events
    stream: Stream
    table: str
    reader: RangeReader
    analytics: Analytics


@functools.lru_cache(STREAMS_AT_ONCE)
def reading_of(name: str) -> Reading:
    """What reads the declared stream of that name."""
    stream = stream_named(name)
    settings = table_settings(stream)
    stream = stream.with_time_shards(settings.time_shards)
    analytics = analytics_of(stream, lambda reader: EventColumns(reader, name))
    return Reading(events()[name], stream, settings.table, range_reader(), analytics)


def _reading(request: Request[Any, Any, Any]) -> Reading:
    stream_named(request.path.stream)
    return reading_of(request.path.stream)


def services() -> None:
    """Routes of declared streams find what they use by the stream of their request."""


def describe(_services: None, _request: Request[None, None, None]) -> dict[str, Any]:
    """List the declared streams, and what their events are."""
    return {"items": list(map(described, events().values()))}


def described(events: Events) -> dict[str, Any]:
    """The description of a declared stream."""
    declared = events.declared
    return {
        "name": declared.name,
        "text": (declared.event.__doc__ or "").strip(),
        "key": to_camel(declared.key),
        **({"user": to_camel(declared.user)} if declared.user else {}),
        "counts": list(map(to_camel, declared.counts)),
        "sums": list(map(to_camel, declared.sums)),
        "keepDays": declared.keep_days,
        "senders": declared.senders,
        "schema": events.schema,
    }


def openapi(_services: None, request: StreamRequest) -> Document:
    """Get the OpenAPI document of a declared stream."""
    return document(_reading(request).events)


def page(_services: None, request: StreamRequest) -> dict[str, Any]:
    """Read a page of a declared stream's events: of one key, which the parameter of its name gives, or of all."""
    reading = _reading(request)
    declared = reading.events.declared
    asked: Any = read(_page_model(declared.name), _parameters(request))
    key = getattr(asked, declared.key)
    if key is not None:
        return _page(reading, request, asked, None, reading.events.partition(key)).to_body()
    return _page(reading, request, asked, TIME_INDEX, declared.name).to_body()


def user_page(_services: None, request: Request[StreamUserPath, PageRequest, None]) -> dict[str, Any]:
    """Read a page of a user's events in a declared stream. Those of other users need ``analytics:read``."""
    if request.path.user_id != request.caller.subject:
        request.caller.require(ANALYTICS_READ, now=request.now)
    reading = _with_users(request)
    return _page(reading, request, request.query, USER_INDEX, request.path.user_id).to_body()


@functools.cache
def _page_model(name: str) -> type[PageRequest]:
    field = (StoredId | None, Field(default=None, description=keys.STORED_ID_FORM))
    more: Any = {events()[name].declared.key: field}
    return create_model("EventPageRequest", __base__=PageRequest, **more)


def _page(reading: Reading, request: StreamRequest, asked: PageRequest, index: Index | None, value: str) -> Page:
    """A page of the rows of a value: of one key, of a user, or of a whole stream, by time and then by id."""
    name = reading.stream.name
    if index is None:
        rows = RangeQuery(reading.table, reading.stream.partition_key, value, reading.stream.sort_key)
        reader = reading.reader
    else:
        rows = RangeQuery(reading.table, index.partition_key, value, TIME, index=index.name)
        own = next(each for each in reading.stream.indexes if each.name == index.name)
        partitions = own.time_partitions if own.sharded else lambda: [value]
        reader = MergedReader(IndexReader(reading.reader, name), lambda _: partitions(), lambda place: {TIME: place})
    kind = f"events.{name}.{index.name if index else 'key'}"
    return plain_page(request, asked, cursors(), kind, reader, rows, reading.events.item_of)


def window(_services: None, request: StreamRequest) -> dict[str, Any]:
    """Get the totals of a declared stream in a window: by user, by each field that is counted, and sums."""
    reading = _reading(request)
    asked, head, found = _whole(reading, request, TopQuery)
    users, *groups = found.tallies
    names = map(to_camel, reading.events.declared.counted)
    by_user = {"uniqueUsers": users.unique(), "topUsers": _top(USER, users.top(asked.top))}
    return {
        **head,
        "events": found.total,
        "active": {"from": found.first, "to": found.last} if found.total else None,
        **(by_user if reading.events.declared.user else {}),
        "top": {name: _top(name, group.top(asked.top)) for name, group in zip(names, groups, strict=True)},
        "sums": dict(zip(asked.scope.sums, map(_sum, found.sums), strict=True)),
        "accuracy": responses.accuracy(asked, found),
    }


def top(_services: None, request: StreamRequest) -> dict[str, Any]:
    """Get the values of one field with the most events of a declared stream in a window."""
    reading = _reading(request)
    given = dict(_parameters(request))
    names = [*map(to_camel, reading.events.declared.counted), *([USER] if reading.events.declared.user else [])]
    by = given.pop("by", names[0])
    if by not in names:
        detail = FieldError("by", "is no field that is counted", echo(by), ", ".join(names))
        raise InvalidRequest("by names no field that is counted", details=[detail])
    asked, head, found = _whole(reading, request, TopQuery, given)
    tally = found.tallies[asked.scope.attributes.index(by)]
    items = _top(by, tally.top(asked.top))
    return {**head, "events": found.total, "by": by, "items": items, "accuracy": responses.accuracy(asked, found)}


def active_users(_services: None, request: StreamRequest) -> dict[str, Any]:
    """Get the number of users with an event of a declared stream in a window."""
    asked, head, found = _whole(_with_users(request), request, WindowQuery)
    return {**head, **responses.active_users_body(asked, found)}


def series(_services: None, request: StreamRequest) -> dict[str, Any]:
    """Get the events and unique users of a declared stream, for each step of a window."""
    reading = _reading(request)
    body = reading.analytics.series(_asked(reading, StepQuery, _parameters(request)), deadline(request))
    has_users = bool(reading.events.declared.user)
    for point in body["points"]:
        point["events"] = point.pop("messages")
        if not has_users:
            del point["uniqueUsers"]
    return body


def _whole(
    reading: Reading, request: StreamRequest, model: type[WindowQuery], given: Mapping[str, str] | None = None
) -> tuple[WindowRequest, dict[str, Any], Aggregate]:
    asked = _asked(reading, model, _parameters(request) if given is None else given)
    return asked, *reading.analytics.whole(asked, deadline(request))


def _asked(reading: Reading, model: type[WindowQuery], given: Mapping[str, str]) -> WindowRequest:
    asked: Any = read(_window_model(model, reading.stream.name), given)
    own: WindowRequest = asked.of(reading.stream)
    return own


@functools.cache
def _window_model(model: type[WindowQuery], name: str) -> type[WindowQuery]:
    return filtered(model, stream_named(name))


def _with_users(request: Request[Any, Any, Any]) -> Reading:
    """As :func:`_reading`, for a stream with users; raises InvalidRequest for another."""
    reading = _reading(request)
    if not reading.events.declared.user:
        detail = FieldError(
            "stream", "has no users", echo(request.path.stream), "a stream with a field of the type User"
        )
        raise InvalidRequest("the events of this stream have no user", details=[detail])
    return reading


def _parameters(request: Request[Any, Any, Any]) -> Mapping[str, str]:
    return request.event.get("queryStringParameters") or {}


def _top(name: str, counts: list[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{name: value, "events": count} for value, count in counts if value]


def _sum(found: Sum) -> dict[str, Any]:
    if not found.count:
        return {"events": 0, "sum": 0, "mean": None, "min": None, "max": None}
    total, mean = found.total, float(found.total) / found.count
    return {
        "events": found.count,
        "sum": _number(total),
        "mean": mean,
        "min": _number(found.least),
        "max": _number(found.most),
    }


def _number(value: Any) -> Any:
    return int(value) if value == int(value) else shown(value)
