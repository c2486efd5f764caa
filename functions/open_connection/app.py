"""$connect: remembers the connection, and picks the subprotocol that the client has to be told."""

from __future__ import annotations

from typing import Any

from headrace.api import responses
from headrace.api.auth import caller_from_frame
from headrace.api.tokens import SUBPROTOCOL
from headrace.core.errors import HeadraceError
from headrace.reading import connections
from headrace.runtime.observability import report


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer 200 with our subprotocol; any other status refuses the connection."""
    try:
        connections().open(event["requestContext"]["connectionId"], caller_from_frame(event))
    except HeadraceError as error:
        report(type(error).__name__, "a connection was refused", level="error")
        return responses.http_error(error)
    return {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": SUBPROTOCOL}}
