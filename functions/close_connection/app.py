"""$disconnect: forgets the connection. Best effort on AWS's side, so rows also expire."""

from __future__ import annotations

from typing import Any

from headrace.api import responses
from headrace.core.errors import HeadraceError
from headrace.reading import connections
from headrace.runtime.observability import report


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer 200 when nothing is left of the connection; nobody reads the answer but the log."""
    try:
        connections().close(event["requestContext"]["connectionId"])
    except HeadraceError as error:
        report(type(error).__name__, "a connection's rows were left to expire")
        return responses.http_error(error)
    return {"statusCode": 200}
