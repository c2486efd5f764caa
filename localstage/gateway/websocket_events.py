"""Builds the events of a WebSocket API: CONNECT, MESSAGE, DISCONNECT, and the authorizer's REQUEST.

The common fields of a connection's messages are encoded once, when the connection is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from localstage.core.model import ACCOUNT
from localstage.gateway.aws_ids import REGION, ApiFacts, new_id, now, trace_id
from localstage.gateway.http_event import encode

_NOT_PASSED_ON = frozenset({"connection", "upgrade", "keep-alive", "transfer-encoding", "te", "proxy-connection"})


@dataclass(frozen=True)
class Handshake:
    """What a client sent to open its connection, as events show it."""

    headers: Mapping[str, str]
    multi_headers: Mapping[str, list[str]]
    query: Mapping[str, str]
    multi_query: Mapping[str, list[str]]
    source_ip: str
    user_agent: str | None

    @classmethod
    def of(cls, request: web.BaseRequest, facts: ApiFacts) -> Handshake:
        """Take what events need from a request; header names stay as the client wrote them."""
        source_ip = request.remote or "127.0.0.1"
        multi_headers: dict[str, list[str]] = {}
        for name, value in request.headers.items():
            if name.lower() not in _NOT_PASSED_ON:
                multi_headers.setdefault(name, []).append(value)
        multi_headers.setdefault("X-Amzn-Trace-Id", [trace_id()])
        multi_headers["X-Forwarded-For"] = [source_ip]
        multi_headers["X-Forwarded-Port"] = [str(facts.port)]
        multi_headers["X-Forwarded-Proto"] = ["http"]
        multi_query: dict[str, list[str]] = {}
        for name, value in parse_qsl(request.raw_path.partition("?")[2], keep_blank_values=True):
            multi_query.setdefault(name, []).append(value)
        return cls(
            {name: values[-1] for name, values in multi_headers.items()},
            multi_headers,
            {name: values[-1] for name, values in multi_query.items()},
            multi_query,
            source_ip,
            request.headers.get("User-Agent"),
        )


class ConnectionEvents:
    """Builds the events of one connection."""

    def __init__(self, facts: ApiFacts, handshake: Handshake, connection_id: str) -> None:
        self._facts = facts
        self._handshake = handshake
        self._connection_id = connection_id
        self.connected_at = now()[0]
        self._authorizer: Mapping[str, Any] | None = None
        self._common = self._encode_common()

    @property
    def method_arn(self) -> str:
        """The ARN an authorizer's policy must allow."""
        api = f"{self._facts.api_id}/{self._facts.stage}/$connect"
        return f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{api}"

    def authorized_as(self, authorizer: Mapping[str, Any]) -> None:
        """Put an authorizer's context into every later event."""
        self._authorizer = authorizer
        self._common = self._encode_common()

    def authorize(self, request_id: str) -> bytes:
        """Return the REQUEST event for a Lambda authorizer."""
        context = self._context("$connect", "CONNECT", request_id)
        query = self._query() or {"queryStringParameters": {}, "multiValueQueryStringParameters": {}}
        event = {"type": "REQUEST", "methodArn": self.method_arn, **self._headers(), **query}
        return encode({**event, "stageVariables": {}, "requestContext": context}).encode("utf-8", "replace")

    def connect(self, request_id: str) -> bytes:
        """Return the CONNECT event."""
        context = self._context("$connect", "CONNECT", request_id)
        event = {**self._headers(), **self._query(), "requestContext": context, "isBase64Encoded": False}
        return encode(event).encode("utf-8", "replace")

    def message(self, route_json: str, body: str, request_id: str) -> bytes:
        """Return a MESSAGE event; ``route_json`` is the encoded route key."""
        millis, at = now()
        return (
            f'{{"requestContext":{{"routeKey":{route_json},"messageId":"{new_id()}","eventType":"MESSAGE",'
            f'"extendedRequestId":"{request_id}","requestTime":"{at}","messageDirection":"IN",'
            f'"requestTimeEpoch":{millis},"requestId":"{request_id}",{self._common}}},'
            f'"body":{encode(body)},"isBase64Encoded":false}}'
        ).encode("utf-8", "replace")

    def disconnect(self, request_id: str, code: int, reason: str) -> bytes:
        """Return the DISCONNECT event."""
        context = self._context("$disconnect", "DISCONNECT", request_id)
        context |= {"disconnectStatusCode": code, "disconnectReason": reason}
        headers = {"Host": self._facts.domain, "x-api-key": "", "X-Forwarded-For": "", "x-restapi": ""}
        event = {
            "headers": headers,
            "multiValueHeaders": {name: [value] for name, value in headers.items()},
            "requestContext": context,
            "isBase64Encoded": False,
        }
        return encode(event).encode("utf-8", "replace")

    def _context(self, route_key: str, event_type: str, request_id: str) -> dict[str, Any]:
        millis, at = now()
        return {
            "routeKey": route_key,
            "eventType": event_type,
            "extendedRequestId": request_id,
            "requestTime": at,
            "messageDirection": "IN",
            "requestTimeEpoch": millis,
            "requestId": request_id,
            **self._constants(),
        }

    def _constants(self) -> dict[str, Any]:
        identity = {"sourceIp": self._handshake.source_ip}
        if self._handshake.user_agent is not None:
            identity["userAgent"] = self._handshake.user_agent
        constants: dict[str, Any] = {
            "stage": self._facts.stage,
            "connectedAt": self.connected_at,
            "identity": identity,
            "domainName": self._facts.domain,
            "connectionId": self._connection_id,
            "apiId": self._facts.api_id,
        }
        if self._authorizer is not None:
            constants["authorizer"] = self._authorizer
        return constants

    def _encode_common(self) -> str:
        return encode(self._constants())[1:-1]

    def _headers(self) -> dict[str, Any]:
        return {"headers": self._handshake.headers, "multiValueHeaders": self._handshake.multi_headers}

    def _query(self) -> dict[str, Any]:
        if not self._handshake.query:
            return {}
        return {
            "queryStringParameters": self._handshake.query,
            "multiValueQueryStringParameters": self._handshake.multi_query,
        }
