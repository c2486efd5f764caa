"""A declared stream: its events are sent, read and counted.

    async with AsyncHeadrace("https://host", token) as client:
        doors = client.stream("doors")
        await doors.send({"door": "front", "badge": "alice"})
        async for event in doors.items(key="front"):
            print(event["timestamp"], event["badge"])

An event without an ``eventId`` gets one and a time before it is first sent, so that it stays the same when it is sent
again. One with an ``eventId`` needs a ``timestamp`` too, unless the id is a UUIDv7.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from . import types
from .calls import Event, Sent, checked
from .errors import Refused
from .operations import _segment
from .request import waiting
from .sending import Sender, with_id_and_time

if TYPE_CHECKING:
    from .client import AsyncHeadrace, Headrace


class AsyncStream:
    """The declared stream ``name``; :meth:`AsyncHeadrace.stream` makes it. It sends one request at a time.

    Times are ISO-8601 with a zone, or the digits of epoch milliseconds. A window has up to 31 days; its ``filters`` are
    values of the user and of fields that are counted, such as ``method="card"``.

    Raises:
        Refused: a permanent error.
        Unavailable: no answer or a temporary error, also in the last attempt.
    """

    def __init__(self, client: AsyncHeadrace, name: str) -> None:
        self.name = name
        self._client = client
        self._key = ""
        post = functools.partial(client._http.batch, f"/streams/{_segment(name)}/events")
        self.sender = Sender(client._http, client._settings, post=post, identify=identified)

    async def send(self, event: Event) -> Sent:
        """Send an event until it is accepted.

        Raises:
            NotAccepted: it is refused, or was not accepted for ``SendSettings.retry_timeout``.
        """
        (sent,) = checked(await self.send_many([event]))
        return sent

    async def send_many(self, events: Iterable[Event]) -> list[Sent]:
        """Send events, up to 500 in a request, until each is accepted or refused, as :meth:`Sender.send`.

        Returns one result for each, in order; a refused event has an ``error``.
        """
        return await self.sender.send([*events], raise_for_errors=False)

    async def describe(self, /) -> types.Description:
        """Its key, its user, what is counted and summed, and the JSON schema of an event."""
        found = {each["name"]: each for each in (await self._client.list_streams())["items"]}
        if self.name not in found:
            known = ", ".join(found) or "none"
            raise Refused("not_found", f"there is no stream {self.name!r}; there are: {known}")
        return found[self.name]

    async def page(
        self,
        /,
        *,
        key: str | None = None,
        user: str | None = None,
        start: str | None = None,
        end: str | None = None,
        **place: Any,
    ) -> types.EventPage:
        """A page of events, newest first: of a key, of a user, or of all.

        ``place`` is ``limit``, and ``cursor``, ``before``, ``after`` or ``around``.

        Raises:
            ValueError: both a key and a user are given.
        """
        if key is not None and user is not None:
            raise ValueError("give a key or a user, not both")
        if user is not None:
            return await self._client.list_user_events(self.name, user, from_=start, to=end, **place)
        if key is not None and not self._key:
            self._key = (await self.describe())["key"]
        filters = {} if key is None else {self._key: key}
        return await self._client.list_events(self.name, from_=start, to=end, filters=filters, **place)

    def items(self, *, key: str | None = None, user: str | None = None, **query: Any) -> AsyncIterator[dict[str, Any]]:
        """The events of all pages; parameters as of :meth:`page`."""
        return self._client.items(functools.partial(self.page, key=key, user=user), **query)

    async def window(self, /, start: str, end: str, *, top: int | None = None, **filters: str) -> types.EventWindow:
        """The totals of a window, its ``top`` values of each field that is counted, and its sums."""
        return await self._client.get_event_window(self.name, from_=start, to=end, top=top, filters=filters)

    async def top(
        self, /, start: str, end: str, *, by: str | None = None, top: int | None = None, **filters: str
    ) -> types.EventTop:
        """The ``top`` values of the field ``by`` with the most events, by default of the key."""
        return await self._client.get_event_top(self.name, from_=start, to=end, by=by, top=top, filters=filters)

    async def series(
        self, /, start: str, end: str, *, step: Literal[60, 3600, 86400] | None = None, **filters: str
    ) -> types.EventSeries:
        """The events and unique users of each ``step`` of a window, in seconds."""
        return await self._client.get_event_series(self.name, from_=start, to=end, step=step, filters=filters)

    async def active_users(self, /, start: str, end: str, **filters: str) -> types.ActiveUsersAnswer:
        """The number of users with an event in a window."""
        return await self._client.count_active_event_users(self.name, from_=start, to=end, filters=filters)


class Stream:
    """:class:`AsyncStream` for programs without asyncio; :meth:`Headrace.stream` makes it. Its methods are the same."""

    def __init__(self, client: Headrace, name: str) -> None:
        self.name = name
        self._run = client._run
        self._items = client.items
        self._inner = client._inner.stream(name)

    def send_many(self, events: Iterable[Event]) -> list[Sent]:
        """Send events, as :meth:`AsyncStream.send_many`."""
        return self._run(self._inner.send_many([*events]))  # a generator runs in the caller's thread

    def items(self, *, key: str | None = None, user: str | None = None, **query: Any) -> Iterator[dict[str, Any]]:
        """The events of all pages, as :meth:`AsyncStream.items`."""
        return self._items(functools.partial(self.page, key=key, user=user), **query)

    send = waiting(AsyncStream.send)
    describe = waiting(AsyncStream.describe)
    page = waiting(AsyncStream.page)
    window = waiting(AsyncStream.window)
    top = waiting(AsyncStream.top)
    series = waiting(AsyncStream.series)
    active_users = waiting(AsyncStream.active_users)


def identified(event: Event) -> Event:
    """``event``, with a new id and a time unless it has an id."""
    if not isinstance(event, dict) or event.get("eventId") is not None:
        return event
    own = {} if event.get("timestamp") is None else {"timestamp": event["timestamp"]}
    return {**event, **with_id_and_time(own, "eventId")}
