"""@connections: functions use it to push to a client, to ask about its connection, or to close it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aiohttp import web

from localstage.gateway.aws_ids import new_id
from localstage.gateway.frames import MAX_MESSAGE
from localstage.gateway.serving import answer_expect, json_response
from localstage.gateway.websocket_connection import BufferFull, Connection

_CONNECTION_ID = re.compile(r"^[A-Za-z0-9_-]{15}=$")


class _Failure(Exception):
    def __init__(self, status: int, error_type: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.error_type = error_type

    def response(self) -> web.Response:
        return json_response(
            self.status,
            {"message": str(self)},
            {"x-amzn-ErrorType": self.error_type, "x-amzn-RequestId": new_id()},
        )


class Management:
    """Answers POST, GET and DELETE on the connections of one API.

    A signature must be present, since an unsigned call fails on AWS. It is not verified.
    """

    def __init__(self, connections: Mapping[str, Connection]) -> None:
        self._connections = connections

    async def handle(self, request: web.BaseRequest, connection_id: str) -> web.Response:
        """Answer a call on one connection; ``connection_id`` is decoded."""
        try:
            return await self._answer(request, connection_id)
        except _Failure as failure:
            return failure.response()

    async def _answer(self, request: web.BaseRequest, connection_id: str) -> web.Response:
        if not request.headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256 "):
            raise _Failure(403, "ForbiddenException", "Missing Authentication Token")
        if not _CONNECTION_ID.match(connection_id):
            raise _Failure(400, "BadRequestException", "Invalid connectionId")
        if request.method == "POST":
            return await self._post(request, connection_id)
        if request.method == "DELETE":
            self._find(connection_id).close(1000)
            return web.Response(status=204, headers={"x-amzn-RequestId": new_id()})
        if request.method == "GET":
            return json_response(200, self._find(connection_id).description(), {"x-amzn-RequestId": new_id()})
        raise _Failure(403, "ForbiddenException", "Forbidden")

    async def _post(self, request: web.BaseRequest, connection_id: str) -> web.Response:
        await answer_expect(request)
        try:
            data = await request.read()
        except web.HTTPRequestEntityTooLarge:
            data = bytes(MAX_MESSAGE + 1)
        if len(data) > MAX_MESSAGE:
            raise _Failure(413, "PayloadTooLargeException", f"Message exceeds the maximum size of {MAX_MESSAGE} bytes")
        connection = self._find(connection_id)
        try:
            data.decode("utf-8")
            await connection.push(data)
        except UnicodeDecodeError:
            raise _Failure(400, "BadRequestException", "The data is not UTF-8 text") from None
        except BufferFull:
            raise _Failure(429, "LimitExceededException", "The WebSocket client side buffer is full") from None
        except ConnectionError:
            raise _Failure(410, "GoneException", "Gone") from None
        return web.Response(status=200)

    def _find(self, connection_id: str) -> Connection:
        # A connection is listed after its handshake, so a push from $connect is a 410, as on AWS.
        connection = self._connections.get(connection_id)
        if connection is None or not connection.open:
            raise _Failure(410, "GoneException", "Gone")
        return connection
