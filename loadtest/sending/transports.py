"""Transports of the Python client's ``BlockingSender`` for threads and greenlets: HTTP requests, and frames."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace_client import Refused, Unavailable
from headrace_client.calls import is_temporary
from headrace_client.http import HTTP_BYTES, HTTP_EVENTS
from headrace_client.websocket import FRAME_BYTES, FRAME_EVENTS
from loadtest.client.websocket import ConnectionLost, NoAnswer, WebSocket
from localstage.client.errors import HttpError, TokenRefused
from localstage.client.http_api import HttpApi

NOT_ACCEPTED = "the stage does not accept the token; it may have expired"

Event = dict[str, Any]
Request = Callable[[Sequence[Event]], tuple[str, Mapping[str, Any]]]
"""Returns the path and the body that post some events of a stream."""
Retried = Callable[[str, int], object]
"""Called with the code of a temporary error, and the number of events that will be sent again."""
Answered = Callable[[str, float, object], object]
"""Called with the protocol of a request, when it began (epoch seconds), and the type or error code of its answer."""


class HttpTransport:
    """Posts events over ``api``, one request at a time."""

    max_events = HTTP_EVENTS
    max_bytes = HTTP_BYTES

    def __init__(self, api: HttpApi, request: Request, retried: Retried) -> None:
        self._api = api
        self._request = request
        self._retried = retried

    def post(self, events: Sequence[Event]) -> list[Event]:
        """Send ``events``; returns one result per event.

        Raises:
            TokenRefused: the stage does not accept the token.
            Refused, Unavailable: the whole request was refused.
        """
        try:
            results = self._api.post(*self._request(events))["results"]
        except HttpError as error:
            if error.is_unauthorized:
                raise TokenRefused(NOT_ACCEPTED) from None
            if not error.retryable:
                raise Refused(error.code, str(error)) from None
            self._retried(error.code, len(events))
            raise Unavailable(str(error), error.retry_after) from None
        return _checked(events, results, self._retried)


class FrameTransport:
    """Sends frames over ``connection``, and opens it again after it was lost. A single event is a message."""

    max_events = FRAME_EVENTS
    max_bytes = FRAME_BYTES

    def __init__(
        self,
        connection: WebSocket,
        retried: Retried,
        *,
        reconnected: Callable[[], object] = lambda: None,
        answered: Answered = lambda *_: None,
    ) -> None:
        self._connection = connection
        self._retried = retried
        self._reconnected = reconnected
        self._answered = answered
        self._requests = 0
        self._opened = connection.connected

    def post(self, events: Sequence[Event]) -> list[Event]:
        """Send ``events`` in one frame; returns one result per event.

        Raises:
            ConnectionRefused: the token is not accepted.
            Unavailable: there is no connection, or no answer.
        """
        began = time.time()
        try:
            results = self._answer(events, began)
        except (ConnectionLost, NoAnswer) as error:
            code = "no_answer" if isinstance(error, NoAnswer) else "connection_lost"
            self._answered("WebSocket", began, code)
            self._connection.close()
            self._retried(code, len(events))
            raise Unavailable(code) from None
        return _checked(events, results, self._retried)

    def _answer(self, events: Sequence[Event], began: float) -> list[Event]:
        if not self._connection.connected:
            if self._opened:
                self._reconnected()
            self._connection.open()
            self._opened = True
        self._requests += 1
        number = f"r{self._requests}"
        content = {"action": "sendBatch", "events": list(events)}
        if len(events) == 1:
            content = {"action": "sendMessage", **events[0]}
        self._connection.send(json.dumps({**content, "requestId": number}, ensure_ascii=False))
        while True:
            answer = self._connection.receive()
            # Errors of API Gateway, and some of the platform, name no request. There is only this one.
            if answer.get("requestId") == number or (
                "requestId" not in answer and answer.get("type") in (None, "error")
            ):
                break
        error = answer.get("error") or {}
        self._answered("WebSocket", began, error.get("code", answer.get("type")))
        if error.get("code") == "token_expired":
            self._connection.close()  # every connection is opened with a valid token
        if answer.get("type") is None:
            answer = {"error": {"code": "unavailable", "message": str(answer.get("message"))}}
        return answer["results"] if answer.get("type") == "acks" else [answer] * len(events)


def _checked(events: Sequence[Event], results: Sequence[Event], retried: Retried) -> list[Event]:
    """``results`` with an error where the platform answers with another id or time than the event has."""
    if len(results) != len(events):
        return [_wrong("wrong_count")] * len(events)
    for code, count in Counter(each["error"]["code"] for each in results if is_temporary(each)).items():
        retried(code, count)
    return [
        result if "error" in result or _names(event, result) else _wrong("wrong_answer")
        for event, result in zip(events, results, strict=True)
    ]


def _names(event: Event, result: Event) -> bool:
    return all(result.get(name) == event[name] for name in ("messageId", "timestamp") if name in event)


def _wrong(code: str) -> Event:
    return {"error": {"code": code, "message": "the answer is not that of the events"}}
