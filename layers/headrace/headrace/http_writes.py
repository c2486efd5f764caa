"""What a POST with events asks for, and the HTTP answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace import answers
from headrace.accept import Acceptor, Result
from headrace.auth import Caller, caller_from_http
from headrace.bodies import event_list, http_body
from headrace.errors import FieldError, Forbidden, HeadraceError, InvalidEvent, NotFound, Unavailable, shown
from headrace.observe import Meter, correlate, report_unexpected
from headrace.streams.chat import CHAT

BATCH_LIMIT = 500


class HttpWrites:
    """Answers requests of one environment."""

    def __init__(self, acceptor: Acceptor, scope_prefix: str) -> None:
        self._acceptor = acceptor
        self._scope_prefix = scope_prefix

    def answer(self, event: Mapping[str, Any], route: Route) -> dict[str, Any]:
        """The answer to an HTTP API event: ``route``'s, or the error that stopped it. Never raises."""
        meter = Meter()
        correlation_id = correlate(event)
        try:
            caller = caller_from_http(event, self._scope_prefix)
            return route(self, event, caller, correlation_id, meter)
        except HeadraceError as error:
            return answers.http_error(error)
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error
            report_unexpected(error)
            return answers.http_error(error)
        finally:
            meter.flush()

    def post_message(
        self, event: Mapping[str, Any], caller: Caller, correlation_id: str, meter: Meter
    ) -> dict[str, Any]:
        """Accept the body as one message of the room in the path."""
        message = http_body(event)
        room_id = event["pathParameters"]["roomId"]
        if message.setdefault("roomId", room_id) != room_id:
            detail = FieldError("roomId", "is not the path's", shown(message["roomId"]), shown(room_id))  # type: ignore[arg-type]
            raise InvalidEvent("roomId is not the path's", details=[detail])
        return _answer(self._acceptor.accept(CHAT, caller, [message], correlation_id, meter))

    def post_batch(self, event: Mapping[str, Any], caller: Caller, correlation_id: str, meter: Meter) -> dict[str, Any]:
        """Accept the body's events, with one result each."""
        events = event_list(http_body(event), BATCH_LIMIT)
        return _answer(self._acceptor.accept(CHAT, caller, events, correlation_id, meter))

    def unknown(self, _event: Mapping[str, Any], _caller: Caller, _id: str, _meter: Meter) -> dict[str, Any]:
        """Refuse a route that there is not."""
        raise NotFound("there is no such route")


Route = Callable[[HttpWrites, Mapping[str, Any], Caller, str, Meter], dict[str, Any]]


def _answer(results: Sequence[Result]) -> dict[str, Any]:
    """202 if anything was accepted; else 503 if anything could be later; else 403 if nothing is allowed; else 400."""
    bodies = [result.to_body() for result in results]
    errors = [result.error for result in results if result.error is not None]
    if len(errors) < len(results):
        return answers.http(202, {"results": bodies})
    error = next((error for error in errors if isinstance(error, Unavailable)), errors[0])
    if len(errors) > 1 and not isinstance(error, Unavailable) and not all(isinstance(e, Forbidden) for e in errors):
        error = InvalidEvent(f"none of the {len(errors)} events is valid; see results")
    return answers.http_error(error, results=bodies)
