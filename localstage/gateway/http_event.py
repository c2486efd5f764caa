"""Builds the event of an HTTP API, payload format 2.0.

Constant fields are encoded once per route; each request adds its own fields.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from urllib.parse import parse_qsl

from aiohttp import web

from localstage.core.model import ACCOUNT, HttpRoute
from localstage.gateway.aws_ids import ApiFacts, now, trace_id
from localstage.gateway.jwt import VerifiedToken

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_NOT_PASSED_ON = frozenset(
    {"connection", "expect", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "cookie"}
)
_TEXT_TYPES = frozenset({"application/json", "application/javascript", "application/xml"})


@dataclass(frozen=True)
class Call:
    """One request to a function. ``path`` is decoded, ``query`` is raw."""

    request: web.BaseRequest
    method: str
    path: str
    query: str
    body: bytes
    request_id: str
    parameters: dict[str, str]
    token: VerifiedToken | None


class HttpEvents:
    """Builds the events of one route."""

    def __init__(self, facts: ApiFacts, route: HttpRoute) -> None:
        self._facts = facts
        self._scopes = route.scopes
        key = encode(route.key)
        self._head = f'{{"version":"2.0","routeKey":{key},"rawPath":'
        self._context = f'{{"accountId":"{ACCOUNT}","apiId":"{facts.api_id}"'
        self._domain = f',"domainName":{encode(facts.domain)},"domainPrefix":"{facts.api_id}","http":{{"method":'
        self._tail = f',"routeKey":{key},"stage":{encode(facts.stage)},"time":"'

    def build(self, call: Call) -> bytes:
        """Return the event as JSON."""
        source_ip = call.request.remote or "127.0.0.1"
        headers = self._headers(call, source_ip)
        millis, at = now()
        path = encode(call.path)
        parts = [self._head, path, ',"rawQueryString":', encode(call.query)]
        parts += (',"headers":', encode(headers))
        if call.query:
            parts += (',"queryStringParameters":', encode(_query_parameters(call.query)))
        parts += (',"requestContext":', self._context, self._authorizer(call.token), self._domain)
        parts += (encode(call.method), ',"path":', path, ',"protocol":"HTTP/1.1","sourceIp":', encode(source_ip))
        parts += (',"userAgent":', encode(headers.get("user-agent", "")), '},"requestId":"', call.request_id, '"')
        parts += (self._tail, at, '","timeEpoch":', str(millis), "}")
        if call.parameters:
            parts += (',"pathParameters":', encode(call.parameters))
        parts.append(_body(call.body, headers.get("content-type", "")))
        return "".join(parts).encode("utf-8", "replace")

    def _authorizer(self, token: VerifiedToken | None) -> str:
        if token is None:
            return ""
        scopes = encode(token.granted(self._scopes)) if self._scopes else "null"
        return f',"authorizer":{{"jwt":{{"claims":{token.claims_json},"scopes":{scopes}}}}}'

    def _headers(self, call: Call, source_ip: str) -> dict[str, str]:
        headers: dict[str, str] = {}
        for given, value in call.request.headers.items():
            name = given.lower()
            if name in headers:
                headers[name] = f"{headers[name]},{value}"
            elif name not in _NOT_PASSED_ON:
                headers[name] = value
        if call.body:
            headers["content-length"] = str(len(call.body))
        earlier = headers.get("x-forwarded-for")
        headers["x-forwarded-for"] = f"{earlier}, {source_ip}" if earlier else source_ip
        headers["x-forwarded-port"] = str(self._facts.port)
        headers["x-forwarded-proto"] = "http"
        headers.setdefault("x-amzn-trace-id", trace_id())
        return headers


def _query_parameters(query: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        parameters[name] = f"{parameters[name]},{value}" if name in parameters else value
    return parameters


def _body(body: bytes, content_type: str) -> str:
    """Return the event's body; API Gateway treats only these few types as text, not forms and untyped bodies."""
    if not body:
        return ',"isBase64Encoded":false}'
    if _is_text(content_type):
        try:
            return f',"body":{encode(body.decode("utf-8"))},"isBase64Encoded":false}}'
        except UnicodeDecodeError:
            pass  # declared as text, but not UTF-8: sent as base64
    return f',"body":"{base64.b64encode(body).decode("ascii")}","isBase64Encoded":true}}'


def _is_text(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind in _TEXT_TYPES or kind.startswith("text/")
