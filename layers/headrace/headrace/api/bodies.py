"""Parses request bodies: JSON objects, and the lists of events in them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from typing import Any

from headrace.core import json
from headrace.core.errors import FieldError, InvalidRequest, TooLarge, UnsupportedMediaType, echo

JSON_TYPES = ("application/json", "application/x-www-form-urlencoded")
"""A body may have these content types, any ``+json``, or none. curl sends the second one with ``-d``."""
HEAD_FIELDS = ("action", "requestId")
"""The fields that a frame of any action may have, beside those of the action."""


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


def own_fields(frame: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a frame's action: all but ``HEAD_FIELDS``."""
    return {name: value for name, value in frame.items() if name not in HEAD_FIELDS}


def http_body(event: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object in an HTTP API event's body.

    Raises:
        InvalidRequest: not text, not JSON, or not an object.
        UnsupportedMediaType: its content type is of something else.
    """
    _check_content_type(event.get("headers") or {})
    body = event.get("body")
    if body and event.get("isBase64Encoded"):
        try:
            body = base64.b64decode(body, validate=True).decode()
        except (binascii.Error, ValueError):
            raise InvalidRequest("the body is not UTF-8") from None
    return parse_object(body, "body")


def _check_content_type(headers: Mapping[str, str]) -> None:
    given = headers.get("content-type", "")
    kind = given.partition(";")[0].strip().lower()
    if kind and kind not in JSON_TYPES and not kind.endswith("+json"):
        detail = FieldError("content-type", "is not JSON", echo(given), "application/json, or none")
        raise UnsupportedMediaType("the body's content type is not JSON", details=[detail])


def event_list(content: Mapping[str, Any], limit: int, beside: Collection[str] = ()) -> list[object]:
    """The 1 to ``limit`` events in ``content["events"]``. Fields that are named in ``beside`` may be in it too.

    Raises:
        InvalidRequest: the array is missing or empty, or there is an unknown field.
        TooLarge: there are more events than ``limit``.
    """
    unknown = [name for name in content if name != "events" and name not in beside]
    if unknown:
        details = [
            FieldError(str(echo(name)), "is not a field of a batch", echo(content[name]), "events") for name in unknown
        ]
        raise InvalidRequest(f"{details[0].field} {details[0].message}", details=details)
    events = content.get("events")
    allowed = f"an array of 1 to {limit} events"
    if not isinstance(events, list) or not events:
        message = "is missing" if events is None else "is not an array of events"
        raise InvalidRequest(f"events {message}", details=[FieldError("events", message, echo(events), allowed)])
    if len(events) > limit:
        detail = FieldError("events", "has too many events", len(events), allowed)
        raise TooLarge(f"at most {limit} events are accepted at once", details=[detail])
    return events
