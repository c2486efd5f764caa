"""Routes as data, and the one wrapper around every HTTP route and every WebSocket action.

    ROUTES = {"GET /rooms/{roomId}/messages": Route(read_room, scopes=(CHAT_READ,), path=RoomPath, query=PageRequest)}
    handler = HttpRouter(ROUTES, reading, clock, scope_prefix)

A router finds the route, sets the correlation id of all log lines, finds the caller, checks scope, expiry and the
caller's limit, parses path, query and body, calls the route's function, measures, counts, maps errors to answers and
logs what is the platform's own fault. It never raises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from headrace.api import responses
from headrace.api.auth import caller_from_frame, caller_from_http
from headrace.api.bodies import http_body, parse_object
from headrace.api.params import Params, names_of, path_parameters, read
from headrace.api.rates.rate_limiter import READS, RateLimiter, RouteLimit
from headrace.api.statistics import RequestTimes
from headrace.core.caller import Caller
from headrace.core.errors import (
    ConfigurationError,
    FieldError,
    HeadraceError,
    InvalidRequest,
    NotFound,
    echo,
    mapping_of,
    to_body,
)
from headrace.core.stream import Stream
from headrace.core.times import SECOND, Clock
from headrace.runtime.observability import Meter, correlate, report, report_unexpected

Path = TypeVar("Path")
Query = TypeVar("Query")
Body = TypeVar("Body")

HEAD_FIELDS = ("action", "requestId")
"""The fields that a frame of any action may have, beside those of the action."""
REQUEST_ID = "x-request-id"
"""The header of every HTTP answer with the correlation id of its log lines."""
NO_CALLER = Caller(subject="", username="", scopes=frozenset(), expires_at=0)
"""The caller of a route that needs no token."""


@dataclass(frozen=True, slots=True)
class Request(Generic[Path, Query, Body]):
    """One request, as a route's function gets it.

    ``path``, ``query`` and ``body`` are instances of the route's models. ``content`` is the JSON object that was sent:
    a WebSocket frame, or an HTTP body where the route has a model for it. ``now`` is in microseconds.
    """

    event: Mapping[str, Any]
    context: Any
    caller: Caller
    now: int
    correlation_id: str
    meter: Meter
    path: Path
    query: Query
    body: Body
    content: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds_left(self) -> float:
        """Seconds until Lambda ends this invocation."""
        return float(self.context.get_remaining_time_in_millis()) / 1000

    @property
    def request_id(self) -> responses.RequestId | None:
        """The client's own id of a WebSocket frame."""
        return responses.request_id_of(self.content)


@dataclass(frozen=True, slots=True)
class Reply:
    """A body with a status that only the function knows."""

    status: int
    body: Mapping[str, Any] | str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP route, or one WebSocket action.

    ``function(services, request)`` returns the body: a mapping, JSON text, or a :class:`Reply`; ``answer`` is its
    model, a TypedDict or a pydantic model. The caller needs one of ``scopes``; ``()`` accepts any valid token, ``None``
    needs no token. ``errors`` are those that the function raises beside the common ones (InvalidRequest, Unauthorized,
    TokenExpired, Forbidden, RateLimited). A frame's model is its ``body``; ``query`` has those of its fields that
    ``body`` does not have. A route that takes events has their ``stream``, and ``batch``, the most that one request may
    hold in ``events``; 0 where the request itself is the event. Other requests count for ``limit`` of their caller.
    """

    function: Callable[[Any, Request[Any, Any, Any]], Any]
    scopes: tuple[str, ...] | None = ()
    path: type[Params] | None = None
    query: type[Params] | None = None
    body: type[Params] | None = None
    answer: Any = None
    errors: tuple[type[HeadraceError], ...] = ()
    status: int = 200
    stream: Stream | None = None
    batch: int = 0
    limit: RouteLimit = READS

    @property
    def is_limited(self) -> bool:
        """Whether requests count for ``limit``: they have a caller, and no events."""
        return self.scopes is not None and self.stream is None


@dataclass(frozen=True, eq=False)
class HttpRouter:
    """Answers the events of an HTTP API (payload 2.0).

    ``services``, ``scope_prefix``, ``request_times`` and ``limiter`` are called for every request. The errors that they
    raise, such as for a missing setting, are answered like those of a route's function.
    """

    routes: Mapping[str, Route]
    services: Callable[[], Any]
    clock: Clock
    scope_prefix: Callable[[], str] = lambda: ""
    request_times: Callable[[], RequestTimes | None] = lambda: None
    limiter: Callable[[], RateLimiter | None] = lambda: None

    def __call__(self, event: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
        """The answer to ``event``: that of the route's function, or of the error that was raised."""
        began = time.perf_counter()
        key, content, meter = self._key(event), dict[str, Any](), Meter()
        headers = {REQUEST_ID: ""}
        try:
            correlation_id = headers[REQUEST_ID] = correlate(event)
            content.update(self._frame(event))
            route, caller, now = self._authorized(key, event, content)
            path = read(route.path, path_parameters(key, event))
            self._admit(route, caller, path, meter, headers)
            content.update(self._body(route, event))
            body = read(route.body, self._body_fields(route, content))
            query = read(route.query, self._query(route, event, content))
            request = Request(event, context, caller, now, correlation_id, meter, path, query, body, content)
            return self._success(route, route.function(self.services(), request), headers)
        except HeadraceError as error:
            _log(key, error, meter)
            return self._failure(error, content, headers)
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error: a client must not wait
            report_unexpected(error)
            return self._failure(error, content, headers)
        finally:
            meter.flush()
            self._measure(key, time.perf_counter() - began)

    def _authorized(self, key: str, event: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[Route, Caller, int]:
        """The route, its caller and the time in microseconds; an unknown route needs a valid token too."""
        route = self.routes.get(key)
        caller = NO_CALLER if route is not None and route.scopes is None else self._caller(event)
        now = self.clock.now()
        if route is None:
            caller.require_unexpired(now)
            raise self._unknown(content)
        if route.scopes:
            caller.require(*route.scopes, now=now)
        elif route.scopes is not None:
            caller.require_unexpired(now)
        return route, caller, now

    def _admit(self, route: Route, caller: Caller, path: object, meter: Meter, headers: dict[str, str]) -> None:
        """Count the request, and add what is left of its limit to ``headers``. Raises RateLimited."""
        limiter = self.limiter() if route.is_limited else None
        if limiter is not None:
            left, refusal = limiter.count_request(caller, route.limit.kind_for(caller, path), meter)
            headers.update(left)
            if refusal is not None:
                raise refusal

    def _body(self, route: Route, event: Mapping[str, Any]) -> Mapping[str, Any]:
        if route.body is None or (route.body.is_optional and not event.get("body")):
            return {}
        return http_body(event)

    def _body_fields(self, _route: Route, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return content

    def _query(self, _route: Route, event: Mapping[str, Any], _content: Mapping[str, Any]) -> Mapping[str, Any] | None:
        query: Mapping[str, Any] | None = event.get("queryStringParameters")
        return query

    def _key(self, event: Mapping[str, Any]) -> str:
        return str(event.get("routeKey", ""))

    def _frame(self, _event: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    def _caller(self, event: Mapping[str, Any]) -> Caller:
        return caller_from_http(event, self.scope_prefix())

    def _unknown(self, _content: Mapping[str, Any]) -> HeadraceError:
        return NotFound("there is no such route")

    def _success(self, route: Route, result: Any, headers: Mapping[str, str]) -> dict[str, Any]:
        reply = result if isinstance(result, Reply) else Reply(route.status, result)
        return responses.http(reply.status, reply.body, {**headers, **reply.headers})

    def _failure(self, error: Exception, _content: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        answer = responses.http_error(error, headers[REQUEST_ID])
        answer["headers"].update(headers)
        return answer

    def _measure(self, key: str, seconds: float) -> None:
        request_times = self.request_times()
        if request_times is not None:
            request_times.add(key, seconds)


class ConnectionRouter(HttpRouter):
    """Answers ``$connect`` and ``$disconnect`` of a WebSocket API: any status but 200 refuses a connection.

    A function returns the headers of its answer.
    """

    def _key(self, event: Mapping[str, Any]) -> str:
        return str(event.get("requestContext", {}).get("routeKey", ""))

    def _caller(self, event: Mapping[str, Any]) -> Caller:
        return caller_from_frame(event, self.scope_prefix())

    def _success(self, _route: Route, result: Any, _headers: Mapping[str, str]) -> dict[str, Any]:
        return {"statusCode": 200, "headers": result} if result else {"statusCode": 200}


@dataclass(frozen=True, eq=False)
class FrameRouter(ConnectionRouter):
    """Answers frames of a WebSocket API on the connection that sent them; no answer closes it.

    A function returns an answer of :mod:`headrace.api.responses`. The answer to an unknown action lists ``actions``.
    ``renewed`` returns when the token of a connection expires (epoch seconds). It is called only after the token of the
    handshake has expired.
    """

    actions: str = ""
    renewed: Callable[[str], int] = lambda _connection_id: 0

    def _caller(self, event: Mapping[str, Any]) -> Caller:
        caller = super()._caller(event)
        if self.clock.now() < caller.expires_at * SECOND:
            return caller
        renewed = self.renewed(event["requestContext"]["connectionId"])
        return replace(caller, expires_at=max(caller.expires_at, renewed))

    def _frame(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        content = parse_object(event.get("body"), "frame")
        responses.request_id_of(content)
        return content

    def _body(self, _route: Route, _event: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    def _body_fields(self, route: Route, content: Mapping[str, Any]) -> Mapping[str, Any]:
        if route.query is None:
            return own_fields(content)
        names = names_of(route.body)[0] if route.body else []
        return {name: content[name] for name in names if name in content}

    def _query(self, route: Route, _event: Mapping[str, Any], content: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if route.query is None:
            return None
        others = names_of(route.body)[0] if route.body else []
        return {name: value for name, value in own_fields(content).items() if name not in others}

    def _unknown(self, content: Mapping[str, Any]) -> HeadraceError:
        detail = FieldError("action", "is not an action", echo(content.get("action")), self.actions)
        return InvalidRequest("the frame's action is not known", details=[detail])

    def _success(self, _route: Route, result: Any, headers: Mapping[str, str]) -> dict[str, Any]:
        return responses.correlated(result, headers[REQUEST_ID])

    def _failure(self, error: Exception, content: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        return responses.frame_error(responses.request_id_of(content), to_body(error, headers[REQUEST_ID]))


def own_fields(frame: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a frame's action: all but ``HEAD_FIELDS``."""
    return {name: value for name, value in frame.items() if name not in HEAD_FIELDS}


def _log(key: str, error: HeadraceError, meter: Meter) -> None:
    """Log an error that is the platform's own fault, and count a wrong setting as ``Unexpected``."""
    if isinstance(error, ConfigurationError):
        meter.count("Unexpected")
    if mapping_of(error).status >= 500:
        report(f"{key} {type(error).__name__}", f"{key} failed: {error.message}", level="error")
