"""The events of a declared stream of one phase, and all questions about them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

from loadtest.client.chat_events import after
from loadtest.client.credentials import Sender
from loadtest.declared.events import Made, Maker, Totals, declaration_of
from loadtest.declared.queries import DeclaredQueries
from loadtest.runs.posted_work import PostedWork
from localstage.client.errors import ClientError, HttpError
from localstage.client.http_api import HttpApi


class DeclaredWork(PostedWork[Made]):
    """One worker's events of the phase's stream: its own keys and users."""

    user = "load-declared"

    def _prepare(self) -> None:
        self._stream = declaration_of(self.phase.stream)
        self._maker = Maker(self._stream, self._place.unique)

    def begin(self) -> None:
        """Send invalid events, which must be refused.

        Raises:
            ClientError: one was accepted, or the stage does not have the stream.
        """
        invalid = self._maker.invalid(_now())
        with closing(self._target.http(self.user, "events:write")) as api:
            try:
                api.post(*self.request(invalid))
            except HttpError as error:
                if error.code == "invalid_event":
                    return
                raise
        raise ClientError(f"one of {len(invalid)} invalid events was accepted")

    def request(self, events: Sequence[Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
        """The path and the body that post events."""
        return f"/streams/{self._stream.name}/events", {"events": events}

    def make(self, _sender: Sender, _number: int, count: int) -> list[Made]:
        """``count`` new events with the current time, a microsecond apart."""
        at = _now() - count
        return [self._maker.make(at + index) for index in range(count)]

    def _queries(self, api: HttpApi) -> DeclaredQueries:
        return DeclaredQueries(api, Totals(self._stream, self.all_accepted))

    def _is_readable(self, api: HttpApi, event: Made) -> bool:
        page = api.get(
            f"/streams/{quote(self._stream.name)}/events", {"from": event.timestamp, "to": after(event.timestamp)}
        )
        return any(each["eventId"] == event.event_id for each in page["items"])


def _now() -> int:
    return time.time_ns() // 1000
