"""Parses request bodies: JSON objects, and the lists of events in them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from headrace.core import json
from headrace.core.errors import FieldError, InvalidRequest, TooLarge, echo


def parse_object(body: str | None, what: str) -> dict[str, Any]:
    """The JSON object in ``body``; ``what`` names it in errors.

    Raises:
        InvalidRequest: not JSON, or not an object.
    """
    try:
        content = json.decode(body or "")
    except (ValueError, RecursionError):
        raise InvalidRequest(f"the {what} is not JSON") from None
    if not isinstance(content, dict):
        detail = FieldError(what, "is not a JSON object", echo(content), "a JSON object")
        raise InvalidRequest(f"the {what} is not a JSON object", details=[detail])
    return content


def http_body(event: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object in an HTTP API event's body.

    Raises:
        InvalidRequest: not text, not JSON, or not an object.
    """
    body = event.get("body")
    if body and event.get("isBase64Encoded"):
        try:
            body = base64.b64decode(body, validate=True).decode()
        except (binascii.Error, ValueError):
            raise InvalidRequest("the body is not UTF-8") from None
    return parse_object(body, "body")


def event_list(content: Mapping[str, Any], limit: int) -> list[object]:
    """The events in ``content["events"]``: 1 to ``limit``.

    Raises:
        InvalidRequest: missing, not an array, or empty.
        TooLarge: more than ``limit``.
    """
    events = content.get("events")
    allowed = f"an array of 1 to {limit} events"
    if not isinstance(events, list) or not events:
        message = "is missing" if events is None else "is not an array of events"
        raise InvalidRequest(f"events {message}", details=[FieldError("events", message, echo(events), allowed)])
    if len(events) > limit:
        detail = FieldError("events", "has too many events", len(events), allowed)
        raise TooLarge(f"at most {limit} events are accepted at once", details=[detail])
    return events
