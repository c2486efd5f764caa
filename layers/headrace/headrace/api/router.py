"""Routes as data, and the handlers that answer them: of HTTP requests, of WebSocket frames, of connections.

    ROUTES = {"GET /rooms/{roomId}/messages": Route(read_room, scopes=(CHAT_READ,), path=RoomPath, query=PageRequest)}
    handler = http_handler(Api(ROUTES, reading, clock))

A handler reads and writes one protocol. :func:`answer` is the same for all of them: it checks the caller, their rights
and their limit, reads the parameters, and calls the route's function. A handler never raises. It maps errors to
answers, and logs those that are the platform's own fault.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from headrace.api import responses
from headrace.api.auth import caller_from_frame, caller_from_http
from headrace.api.params import Params, frame_fields, http_body, parse_object, path_parameters, read
from headrace.api.rates.rate_limiter import READS, RateLimiter, RouteLimit
from headrace.api.responses import REQUEST_ID
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

Handler = Callable[..., dict[str, Any]]
"""A function's handler: ``handler(event, context)`` returns the answer that API Gateway expects."""
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


@dataclass(frozen=True, slots=True)
class Reply:
    """A body with a status that only the function knows."""

    status: int
    body: Mapping[str, Any] | int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP route, or one WebSocket action.

    ``function(services, request)`` returns the body, or a :class:`Reply`. ``answer`` declares its fields: a TypedDict
    or a pydantic model. The caller needs one of ``scopes``. ``()`` accepts any valid token, ``None`` needs no token.
    ``errors`` are those that the function raises beside the common ones (InvalidRequest, Unauthorized, TokenExpired,
    Forbidden, RateLimited). The fields of a frame are its ``body``. With a ``query`` too, that model has the fields
    that ``body`` does not have. A route that takes events has their ``stream``, and ``batch``: the most events that one
    request may hold, or 0 where the request itself is the event. Other requests count for ``limit`` of their caller.
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


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Api:
    """Routes, and what answers their requests in any protocol.

    ``services``, ``scope_prefix`` and ``limiter`` are called for every request. An error that they raise, such as for a
    missing setting, is answered like an error of the route's function.
    """

    routes: Mapping[str, Route]
    services: Callable[[], Any]
    clock: Clock
    scope_prefix: Callable[[], str] = str
    limiter: Callable[[], RateLimiter | None] = _nothing


@dataclass(frozen=True, slots=True)
class Call:
    """One event, with what is counted and the headers that every answer to it has."""

    key: str
    event: Mapping[str, Any]
    context: Any
    meter: Meter = field(default_factory=Meter)
    headers: dict[str, str] = field(default_factory=lambda: {REQUEST_ID: ""})

    def answered(self, work: Callable[[], dict[str, Any]], refuse: Callable[[Exception], Any]) -> dict[str, Any]:
        """What ``work`` returns, or ``refuse`` for an error that it raises."""
        try:
            self.headers[REQUEST_ID] = correlate(self.event)
            return work()
        except HeadraceError as error:
            _log(self.key, error, self.meter)
            found = refuse(error)
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error: a client must not wait
            report_unexpected(error)
            found = refuse(error)
        finally:
            self.meter.flush()
        return dict(found)


Fields = tuple[Mapping[str, Any], Mapping[str, Any] | None, dict[str, Any]]
"""The fields of a request's body and of its query, before they are checked, and the JSON object that was sent."""


def answer(api: Api, route: Route, call: Call, find_caller: Callable[[], Caller], fields: Callable[[], Fields]) -> Any:
    """What the route's function returns for ``call``.

    Raises:
        headrace.core.errors.HeadraceError: the caller, their rights, their limit or a parameter is not as it must be,
            or the function raised it.
    """
    caller = NO_CALLER if route.scopes is None else find_caller()
    now = api.clock.now()
    if route.scopes is not None:
        caller.require(*route.scopes, now=now)
    path = read(route.path, path_parameters(call.key, call.event))
    limiter = api.limiter() if route.is_limited else None
    if limiter is not None:
        left, refusal = limiter.count_request(caller, route.limit.kind_for(caller, path), call.meter)
        call.headers.update(left)
        if refusal is not None:
            raise refusal
    given, asked, content = fields()
    body, query = read(route.body, given), read(route.query, asked)
    known = (call.event, call.context, caller, now, call.headers[REQUEST_ID], call.meter)
    return route.function(api.services(), Request(*known, path, query, body, content))


def http_handler(api: Api, request_times: Callable[[], RequestTimes | None] = _nothing) -> Handler:
    """The handler of an HTTP API's requests (payload 2.0). It adds the duration of each to ``request_times``."""
    unknown = Route(_no_route)

    def handle(event: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
        began = time.perf_counter()
        call = Call(str(event.get("routeKey", "")), event, context)
        route = api.routes.get(call.key, unknown)

        def fields() -> Fields:
            has_body = route.body is not None and (event.get("body") or not route.body.is_optional)
            content = http_body(event) if has_body else {}
            return content, event.get("queryStringParameters"), content

        def work() -> dict[str, Any]:
            result = answer(api, route, call, lambda: caller_from_http(event, api.scope_prefix()), fields)
            reply = result if isinstance(result, Reply) else Reply(route.status, result)
            return responses.http(reply.status, reply.body, {**call.headers, **reply.headers})

        found = call.answered(work, lambda error: responses.http_error(error, call.headers))
        if (times := request_times()) is not None:
            times.add(call.key, time.perf_counter() - began)
        return found

    return handle


def connection_handler(api: Api) -> Handler:
    """The handler of ``$connect`` and ``$disconnect``: any status but 200 refuses a connection.

    A route's function returns the headers of the answer.
    """

    def handle(event: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
        call = Call(str(event["requestContext"]["routeKey"]), event, context)
        route = api.routes[call.key]

        def work() -> dict[str, Any]:
            headers = answer(
                api, route, call, lambda: caller_from_frame(event, api.scope_prefix()), lambda: ({}, None, {})
            )
            return {"statusCode": 200, "headers": headers} if headers else {"statusCode": 200}

        def refuse(error: Exception) -> dict[str, Any]:
            if mapping_of(error).status < 500:  # API Gateway counts these too, among the errors of its functions
                call.meter.count("ConnectLimited")
            return responses.http_error(error, call.headers)

        return call.answered(work, refuse)

    return handle


def frame_handler(api: Api, actions: str = "", renewed: Callable[[str], int] = lambda _id: 0) -> Handler:
    """The handler of a WebSocket API's frames. It answers on the connection that sent them; no answer closes it.

    A route's function returns a frame without ``requestId`` and ``correlationId``, which the handler adds. The answer
    to an unknown action lists ``actions``. ``renewed`` returns when the token of a connection expires (epoch seconds).
    It is called only after the token of the handshake has expired.
    """
    unknown = Route(functools.partial(_no_action, actions))

    def find_caller(event: Mapping[str, Any]) -> Caller:
        caller = caller_from_frame(event, api.scope_prefix())
        if api.clock.now() < caller.expires_at * SECOND:
            return caller
        expires_at = renewed(event["requestContext"]["connectionId"])
        return replace(caller, expires_at=max(caller.expires_at, expires_at))

    def handle(event: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
        call = Call(str(event["requestContext"]["routeKey"]), event, context)
        route = api.routes.get(call.key, unknown)
        request_id: responses.RequestId | None = None

        def work() -> dict[str, Any]:
            nonlocal request_id
            content = parse_object(event.get("body"), "frame")
            request_id = responses.request_id_of(content)
            fields = (*frame_fields(content, route.body, route.query), content)
            result = answer(api, route, call, lambda: find_caller(event), lambda: fields)
            return responses.frame(result, request_id, call.headers[REQUEST_ID])

        def refuse(error: Exception) -> dict[str, Any]:
            correlation_id = call.headers[REQUEST_ID]
            return responses.frame({"type": "error", "error": to_body(error, correlation_id)}, request_id, "")

        return call.answered(work, refuse)

    return handle


def _no_route(_services: object, _request: object) -> Any:
    raise NotFound("there is no such route")


def _no_action(actions: str, _services: object, request: Request[Any, Any, Any]) -> Any:
    detail = FieldError("action", "is not an action", echo(request.content.get("action")), actions)
    raise InvalidRequest("the frame's action is not known", details=[detail])


def _log(key: str, error: HeadraceError, meter: Meter) -> None:
    """Log an error that is the platform's own fault, and count a wrong setting as ``Unexpected``."""
    if isinstance(error, ConfigurationError):
        meter.count("Unexpected")
    if mapping_of(error).status >= 500:
        code = getattr(error.__cause__, "code", None)  # of an answer of AWS
        report(f"{key} {type(error).__name__}", f"{key} failed: {error.message}", level="error", code=code)
