"""Routes as data, and the handlers that answer them: of HTTP requests, of WebSocket frames, of connections.

    ROUTES = {"GET /rooms/{roomId}/messages": Route(read_room, scopes=(CHAT_READ,), path=RoomPath, query=PageRequest)}
    handler = http_handler(Api(ROUTES, reading, clock))

A handler reads and writes one protocol. It finds the caller and counts the request before it reads anything else. So a
wrong request costs its sender as much as a good one. :func:`answer` is the same for all protocols: it checks the
caller's rights, reads the parameters, and calls the route's function. A handler never raises. It maps errors to
answers, and logs those that are the platform's own fault.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.api import responses
from headrace.api.claims import caller_from_frame, caller_from_http, refusal_of
from headrace.api.error_bodies import mapping_of, to_body
from headrace.api.params import NoBody, Params, frame_fields, http_body, parse_object, path_names, path_parameters, read
from headrace.api.rates.rate_limiter import READS, Kind, RateLimiter, RouteLimit
from headrace.api.responses import REQUEST_ID, Call
from headrace.api.statistics import RequestTimes
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, HeadraceError, InvalidRequest, NotFound, RateLimited, echo
from headrace.core.times import SECOND, Clock
from headrace.runtime.observability import Meter

if TYPE_CHECKING:
    from headrace.core.stream import Stream

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
    request may hold, or 0 where the request itself is the event. Each request counts as one event; the acceptor counts
    the others of a batch. Other requests count for ``limit`` of their caller. ``services`` builds what the function
    uses, in place of those of the :class:`Api`.
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
    services: Callable[[], Any] | None = None


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Api:
    """Routes, and what answers their requests in any protocol.

    ``services``, ``scope_prefix`` and ``limiter`` are called for every request. An error that they raise, such as for a
    missing setting, is answered like an error of the route's function. Routes with services of their own use those.
    """

    routes: Mapping[str, Route]
    services: Callable[[], Any]
    clock: Clock
    scope_prefix: Callable[[], str] = str
    limiter: Callable[[], RateLimiter | None] = _nothing


Fields = tuple[Mapping[str, Any], Mapping[str, Any] | None, dict[str, Any]]
"""The fields of a request's body and of its query, before they are checked, and the JSON object that was sent."""


def answer(api: Api, route: Route, call: Call, caller: Caller, fields: Callable[[], Fields]) -> Any:
    """What the route's function returns for ``call``, which is counted.

    Raises:
        headrace.core.errors.HeadraceError: the caller's rights or a parameter are not as they must be, or the function
            raised it.
    """
    now = api.clock.now()
    if route.scopes is not None:
        caller.require(*route.scopes, now=now)
    path = read(route.path, path_parameters(call.key, call.event))
    given, asked, content = fields()
    body, query = read(route.body, given), read(route.query, asked)
    known = (call.event, call.context, caller, now, call.headers[REQUEST_ID], call.meter)
    return route.function((route.services or api.services)(), Request(*known, path, query, body, content))


def _counted(api: Api, route: Route, call: Call, caller: Caller) -> RateLimited | None:
    """Count a request, and return why it is refused."""
    path = call.event.get("pathParameters")
    kind: Kind = "events" if route.stream is not None else route.limit.kind_for(caller, path)
    limiter = api.limiter()
    if limiter is None:
        return None
    call.left = functools.partial(limiter.headers, caller, kind)
    _, refusal = limiter.admit(caller, 1, call.meter, kind)
    if refusal is not None and route.stream is not None:
        call.meter.count("Refused", stream=route.stream.name, code=mapping_of(refusal).code)
    return refusal


def _counted_caller(api: Api, route: Route, call: Call, find: Callable[[Mapping[str, Any], str], Caller]) -> Caller:
    """The caller of a request that may pass; on a route without a token ``NO_CALLER``.

    Raises:
        Unauthorized: there is no usable token.
        RateLimited: the caller is over the limit.
    """
    if route.scopes is None:
        return NO_CALLER
    caller = find(call.event, api.scope_prefix())
    if (refusal := _counted(api, route, call, caller)) is not None:
        raise refusal
    return caller


def http_handler(api: Api, request_times: Callable[[], RequestTimes | None] = _nothing) -> Handler:
    """The handler of an HTTP API's requests (payload 2.0). It adds the duration of each to ``request_times``.

    The template may name the parameters of a path otherwise: API Gateway may accept only one name at each position.
    """
    unknown = Route(_no_route)
    with_names = path_names(api.routes)

    def handle(event: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
        began = time.perf_counter()
        event = with_names(event)
        call = Call(str(event.get("routeKey", "")), event, context)
        route = api.routes.get(call.key, unknown)

        def fields() -> Fields:
            if route is unknown:  # of a feature that is left out
                return {}, None, {}
            # The body of a GET has no meaning, says RFC 9110.
            model = route.body or (None if call.key.startswith("GET ") else NoBody)
            content = http_body(event) if model and (event.get("body") or not model.is_optional) else {}
            if model is NoBody:
                read(model, content)
            return content, event.get("queryStringParameters"), content

        def work() -> dict[str, Any]:
            result = answer(api, route, call, _counted_caller(api, route, call, caller_from_http), fields)
            reply = result if isinstance(result, Reply) else Reply(route.status, result)
            return responses.http(reply.status, reply.body, {**call.headers, **call.left(), **reply.headers})

        found = call.answered(work, lambda error: responses.http_error(error, {**call.headers, **call.left()}))
        if (times := request_times()) is not None:
            times.add(call.key, time.perf_counter() - began)
        return found

    return handle


def connection_handler(api: Api) -> Handler:
    """The handler of ``$connect`` and ``$disconnect``: any status but 200 refuses a connection.

    A route's function returns the headers of the answer. A connection that the authorizer has refused opens with the
    subprotocol that says why. It has no row, and counts in no limit.
    """

    def handle(event: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
        call = Call(str(event["requestContext"]["routeKey"]), event, context)
        route = api.routes[call.key]

        def work() -> dict[str, Any]:
            if refusal := refusal_of(event):
                return {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": refusal}}
            caller = _counted_caller(api, route, call, caller_from_frame)
            headers = answer(api, route, call, caller, lambda: ({}, None, {}))
            return {"statusCode": 200, "headers": headers} if headers else {"statusCode": 200}

        def refuse(error: Exception) -> dict[str, Any]:
            if mapping_of(error).status < 500:  # API Gateway counts these too, among the errors of its functions
                call.meter.count("ConnectLimited")
            # API Gateway puts the body into its own answer, as the text ``message``.
            return {**responses.http_error(error, {**call.headers, **call.left()}), "body": to_body(error)["message"]}

        return call.answered(work, refuse)

    return handle


def frame_handler(api: Api, actions: str = "", renewed: Callable[[str], int] = lambda _id: 0) -> Handler:
    """The handler of a WebSocket API's frames. It answers on the connection that sent them; no answer closes it.

    A route's function returns a frame without ``requestId`` and ``correlationId``, which the handler adds. The answer
    to an unknown action lists ``actions``. ``renewed`` returns when the token of a connection expires (epoch seconds).
    It is called only after the token of the handshake has expired.
    """
    unknown = Route(functools.partial(_no_action, actions))

    def with_renewal(caller: Caller, connection_id: str) -> Caller:
        if api.clock.now() < caller.expires_at * SECOND:
            return caller
        return replace(caller, expires_at=max(caller.expires_at, renewed(connection_id)))

    def handle(event: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
        call = Call(str(event["requestContext"]["routeKey"]), event, context)
        route = api.routes.get(call.key, unknown)
        request_id: responses.RequestId | None = None

        def work() -> dict[str, Any]:
            nonlocal request_id
            caller = caller_from_frame(event, api.scope_prefix())
            refusal = _counted(api, route, call, caller)
            try:
                content = parse_object(event.get("body"), "frame")
            except InvalidRequest as error:
                raise refusal or error from None
            request_id = responses.request_id_of(content)
            if refusal is not None:  # only now, so that the answer has the frame's requestId
                raise refusal
            if route.scopes is not None:
                caller = with_renewal(caller, event["requestContext"]["connectionId"])
            fields = (*frame_fields(content, route.body, route.query), content)
            result = answer(api, route, call, caller, lambda: fields)
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
