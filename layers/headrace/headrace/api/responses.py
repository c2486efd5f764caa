"""Answers events of API Gateway, in both protocols. A route's function returns the fields, which are encoded here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from headrace.api import error_bodies
from headrace.core import errors, times
from headrace.core.fields import named
from headrace.core.json import encode_object
from headrace.runtime.observability import Meter, correlate, report, report_unexpected

REQUEST_ID_LIMIT = 128
REQUEST_ID_FORM = f"a text or a number of at most {REQUEST_ID_LIMIT} characters"
RequestId = Annotated[
    str | int | float,
    named(
        "RequestId",
        f"The client's id of the frame, {REQUEST_ID_FORM}; the answer has the same.",
        type=["string", "number"],
        maxLength=REQUEST_ID_LIMIT,
    ),
]
"""The client's id of a frame."""
REQUEST_ID = "x-request-id"
"""The header of every HTTP answer with the correlation id of its log lines."""
HEADERS = {"content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff"}
"""The headers of every HTTP answer. No answer is for another caller."""
FRAME_BYTES = 128 * 1024
"""The longest message that a WebSocket API sends."""
HEAD_BYTES = 1024
"""How many of these bytes are for the ids of the frame's request."""


@dataclass(slots=True)
class Call:
    """One event, with what is counted and the headers that every answer to it has.

    ``left`` returns the headers that say what the caller may do now.
    """

    key: str
    event: Mapping[str, Any]
    context: Any
    meter: Meter = field(default_factory=Meter)
    headers: dict[str, str] = field(default_factory=lambda: {REQUEST_ID: ""})
    left: Callable[[], dict[str, str]] = dict

    def answered(self, work: Callable[[], dict[str, Any]], refuse: Callable[[Exception], Any]) -> dict[str, Any]:
        """What ``work`` returns, or ``refuse`` for an error that it raises."""
        try:
            self.headers[REQUEST_ID] = correlate(self.event)
            return work()
        except errors.HeadraceError as error:
            _log(self.key, error, self.meter)
            found = refuse(error)
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error: a client must not wait
            report_unexpected(error)
            found = refuse(error)
        finally:
            self.meter.flush()
        return dict(found)


def _log(key: str, error: errors.HeadraceError, meter: Meter) -> None:
    """Log an error that is the platform's own fault, and count a wrong setting as ``Unexpected``."""
    if isinstance(error, errors.ConfigurationError):
        meter.count("Unexpected")
    if error_bodies.mapping_of(error).status >= 500:
        code = getattr(error.__cause__, "code", None)  # of an answer of AWS
        report(f"{key} {type(error).__name__}", f"{key} failed: {error.message}", level="error", code=code)


def http(status: int, body: Mapping[str, Any] | int, headers: Mapping[str, str]) -> dict[str, Any]:
    """The answer of an HTTP API (payload 2.0)."""
    text = str(body) if isinstance(body, int) else encode_object(body)
    return {"statusCode": status, "headers": {**HEADERS, **headers}, "body": text}


def http_error(error: Exception, headers: Mapping[str, str]) -> dict[str, Any]:
    """The HTTP answer to ``error``; ``headers`` has the correlation id as :data:`REQUEST_ID`."""
    body = refusal(error, headers[REQUEST_ID])
    return http(error_bodies.mapping_of(error).status, body, {**retry_headers(error), **headers})


def refusal(error: Exception, correlation_id: str) -> dict[str, Any]:
    """The HTTP body of an error. Its ``message`` is where the SkiDataAPI and API Gateway have theirs."""
    body = error_bodies.to_body(error, correlation_id)
    return {"error": body, "message": body["message"]}


def retry_headers(error: Exception) -> dict[str, str]:
    """The ``retry-after`` header, if ``error`` says after how many seconds the request may succeed."""
    return {"retry-after": str(error.retry_after)} if isinstance(error, errors.Unavailable | errors.RateLimited) else {}


def frame(body: Mapping[str, Any], request_id: RequestId | None, correlation_id: str) -> dict[str, Any]:
    """The answer of a WebSocket route: ``body``, which has a ``type``, with the ids of its request.

    The error in a frame of the type ``error`` has the correlation id itself.
    """
    fields = {"type": body["type"], **({} if request_id is None else {"requestId": request_id}), **body}
    if "error" not in body:
        fields["correlationId"] = correlation_id
    return {"statusCode": 200, "body": encode_object(fields)}


def expiry(seconds: int) -> str:
    """When a token expires (epoch seconds), as answers have it."""
    return times.iso(min(seconds, times.LAST_SECOND) * times.SECOND)


def request_id_of(frame_body: Mapping[str, Any]) -> RequestId | None:
    """The client's id of a frame, as it came; ``None`` if there is none, or ``null``.

    Raises:
        InvalidRequest: it is not of ``REQUEST_ID_FORM``.
    """
    value = frame_body.get("requestId")
    if value is None:
        return None
    if isinstance(value, str) and len(value) <= REQUEST_ID_LIMIT:
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and not isinstance(value, bool) and len(str(value)) <= REQUEST_ID_LIMIT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    detail = errors.FieldError("requestId", "is not usable", errors.echo(value), REQUEST_ID_FORM)
    raise errors.InvalidRequest(details=[detail])
