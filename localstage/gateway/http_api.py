"""An HTTP API: routes, JWT authorizers, CORS, limits and throttles in front of functions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from aiohttp import web

from localstage.core.model import HttpApi, HttpRoute
from localstage.core.reporter import Reporter
from localstage.gateway.answers import MalformedAnswer, ProxyAnswer
from localstage.gateway.aws_ids import ApiFacts, api_id, new_id
from localstage.gateway.cors import CorsPolicy
from localstage.gateway.http_event import Call, HttpEvents
from localstage.gateway.integration import MAX_PAYLOAD, IntegrationFailed, Integrations, IntegrationTimeout
from localstage.gateway.jwks import KeySet
from localstage.gateway.jwt import JwtVerifier, Unauthorized, VerifiedToken
from localstage.gateway.refusals import nearest
from localstage.gateway.routes import RouteTable
from localstage.gateway.serving import Port, TcpListener, answer_expect, message_response
from localstage.gateway.throttle import TokenBucket, bucket

log = logging.getLogger("localstage.gateway.http")

MAX_BODY = 10 * 1024 * 1024
MAX_HEAD = 10_240
"""Bytes of the request line and all headers together."""
MAX_TIMEOUT = 30.0


class Refused(Exception):
    """The gateway responds without invoking a function, with API Gateway's one-line body.

    ``reason`` is what the body does not say, for the stage's log.
    """

    def __init__(
        self,
        status: int,
        message: str,
        headers: dict[str, str] | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.reason = reason

    def response(self) -> web.Response:
        """Return the answer."""
        return message_response(self.status, str(self), self.headers)


@dataclass(frozen=True)
class _Target:
    route: HttpRoute
    events: HttpEvents
    verifier: JwtVerifier | None
    throttle: TokenBucket | None


class HttpApiServer:
    """Serves one HTTP API on its own port.

    Args:
        api: the API as the template declares it.
        integrations: runs the functions.
        keys: gives the key set of an issuer.
        port: port to listen on, 0 for any, or a socket that listens.
    """

    def __init__(self, api: HttpApi, integrations: Integrations, keys: Callable[[str], KeySet], port: Port) -> None:
        self._api = api
        self._integrations = integrations
        self._keys = keys
        self._listener = TcpListener(self._handle, port, max_body=MAX_BODY)
        self._cors = CorsPolicy(api.cors) if api.cors else None
        self._routes: RouteTable[_Target] | None = None
        self._reporter = Reporter(log)

    @property
    def url(self) -> str:
        """Base URL of the API."""
        return f"http://{self._listener.address}"

    async def start(self) -> None:
        """Listen.

        Raises:
            PortTaken: the port that was asked for by number is in use.
        """
        await self._listener.start()
        facts = ApiFacts(api_id(self._api.id), self._listener.address, self._listener.port)
        verifiers = {name: JwtVerifier(jwt, self._keys(jwt.issuer)) for name, jwt in self._api.authorizers.items()}
        stage_bucket = bucket(self._api.throttle)

        def target(route: HttpRoute) -> _Target:
            verifier = verifiers[route.authorizer_id] if route.authorizer_id else None
            return _Target(route, HttpEvents(facts, route), verifier, bucket(route.throttle) or stage_bucket)

        self._routes = RouteTable((route.key, target(route)) for route in self._api.routes)

    async def stop(self) -> None:
        """Stop listening; running requests get a moment to finish."""
        await self._listener.stop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        request_id = new_id()
        cors = self._cors
        if cors is not None and cors.is_preflight(request):
            response = cors.preflight(request)
        else:
            try:
                response = await self._answer(request, request_id)
            except Refused as refused:
                response = refused.response()
                if refused.reason:
                    about = f"{refused.status} for {request.method} {_shown_path(request)}"
                    self._reporter.warn(refused.reason, f"{about}: {refused.reason}")
            if cors is not None:
                cors.apply(request, response)
        response.headers["Apigw-Requestid"] = request_id
        return response

    async def _answer(self, request: web.BaseRequest, request_id: str) -> web.Response:
        assert self._routes is not None  # noqa: S101 - set before the first request can be read
        _check_head(request)
        path, query = split_path(request)
        found = self._routes.match(request.method, path)
        if found is None:
            keys = [route.key for route in self._api.routes]
            raise Refused(404, "Not Found", reason=nearest(request.method, path, keys))
        target, parameters = found
        if target.throttle is not None and not target.throttle.take():
            raise Refused(429, "Too Many Requests")
        token = None if target.verifier is None else await _authorize(target.verifier, target.route, request)
        body = await _read_body(request)
        event = target.events.build(Call(request, request.method, path, query, body, request_id, parameters, token))
        if len(event) > MAX_PAYLOAD:
            raise Refused(413, "Request Entity Too Large")
        return await self._invoke(target.route, event)

    async def _invoke(self, route: HttpRoute, event: bytes) -> web.Response:
        try:
            payload = await self._integrations.call(route.function_id, event, min(route.timeout, MAX_TIMEOUT))
            return ProxyAnswer.parse(payload).response()
        except IntegrationTimeout:
            raise Refused(503, "Service Unavailable") from None
        except IntegrationFailed:
            raise Refused(500, "Internal Server Error") from None
        except MalformedAnswer as error:
            self._integrations.report_malformed(route.function_id, str(error))
            raise Refused(500, "Internal Server Error") from None


def _shown_path(request: web.BaseRequest) -> str:
    """The path as it was sent, without the query; of a long one the beginning."""
    return request.raw_path.partition("?")[0][:100]


def split_path(request: web.BaseRequest) -> tuple[str, str]:
    """Return the decoded path and the raw query of a request.

    API Gateway passes the decoded path on. Its documents do not say whether it finds the route before or after it
    decodes. Here a path with an encoded ``/`` or ``?`` has no route, so that it cannot lead to another one.

    Raises:
        Refused: the path is not UTF-8, or a segment has an encoded ``/`` or ``?``.
    """
    raw, _, query = request.raw_path.partition("?")
    if not raw.startswith("/"):
        raw = request.rel_url.raw_path
    if "%" not in raw:
        return raw, query
    try:
        segments = [unquote(segment, errors="strict") for segment in raw.split("/")]
    except UnicodeDecodeError:
        raise Refused(400, "Bad Request") from None
    if any("/" in segment or "?" in segment for segment in segments):
        raise Refused(404, "Not Found")
    return "/".join(segments), query


def _check_head(request: web.BaseRequest) -> None:
    line = len(request.method) + len(request.raw_path) + len(" HTTP/1.1\r\n ")
    if line > MAX_HEAD:
        raise Refused(414, "URI Too Long")
    if line + sum(len(name) + len(value) + 4 for name, value in request.raw_headers) > MAX_HEAD:
        raise Refused(431, "Request Header Fields Too Large")


async def _read_body(request: web.BaseRequest) -> bytes:
    if not request.can_read_body:
        return b""
    if (request.content_length or 0) > MAX_BODY:
        raise Refused(413, "Request Entity Too Large")
    await answer_expect(request)
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise Refused(413, "Request Entity Too Large") from None
    except web.RequestPayloadError:
        raise Refused(400, "Bad Request") from None


async def _authorize(verifier: JwtVerifier, route: HttpRoute, request: web.BaseRequest) -> VerifiedToken:
    given = request.headers.get("Authorization", "")
    token = given[7:].strip() if given[:7].lower() == "bearer " else given.strip()
    if not token:
        hint = 'there is no token; after eval "$(make -s env)", send -H "authorization: Bearer $TOKEN"'
        raise Refused(401, "Unauthorized", {"WWW-Authenticate": "Bearer"}, hint)
    scope = " ".join(route.scopes)
    try:
        verified = await verifier.verify(token)
    except Unauthorized as error:
        challenge = f'Bearer scope="{scope}" error="invalid_token" error_description="{error}"'
        hint = f"{error}; get another: make token"
        raise Refused(401, "Unauthorized", {"WWW-Authenticate": challenge}, hint) from None
    if route.scopes and not verified.granted(route.scopes):
        challenge = f'Bearer scope="{scope}" error="insufficient_scope"'
        needed = f"the token needs {' or '.join(route.scopes)}: make token SCOPES={route.scopes[0]}"
        raise Refused(403, "Forbidden", {"WWW-Authenticate": challenge}, needed)
    return verified
