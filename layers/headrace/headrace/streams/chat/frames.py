"""What a WebSocket frame asks for, and the frame that answers it. The connection stays open whatever it said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.api import responses
from headrace.api.auth import caller_from_frame
from headrace.api.bodies import event_list, parse_object
from headrace.core import times
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, HeadraceError, InvalidRequest, echo, to_body
from headrace.core.times import Clock
from headrace.ingest.acceptor import Acceptor
from headrace.runtime.observability import Meter, correlate, report_unexpected
from headrace.streams.chat.stream import CHAT

BATCH_LIMIT = 100
ACTIONS = "sendMessage, sendBatch, subscribe, unsubscribe, history, ping"


class Frames:
    """Answers frames of one environment."""

    def __init__(self, acceptor: Acceptor, clock: Clock, scope_prefix: str = "") -> None:
        self._acceptor = acceptor
        self._clock = clock
        self._scope_prefix = scope_prefix

    def answer(self, event: Mapping[str, Any], action: Action) -> dict[str, Any]:
        """The answer to a MESSAGE event: ``action``'s, or the error that stopped it. Never raises."""

        def act(frame: dict[str, Any], caller: Caller, correlation_id: str, meter: Meter) -> dict[str, Any]:
            return action(self, frame, caller, correlation_id, meter)

        return answer_frame(event, self._clock, self._scope_prefix, act)

    def send_message(self, frame: dict[str, Any], caller: Caller, correlation_id: str, meter: Meter) -> dict[str, Any]:
        """Accept the one event that the frame itself is."""
        (result,) = self._acceptor.accept(CHAT, caller, [frame], correlation_id, meter)
        request_id = responses.request_id_of(frame)
        if result.error is not None:
            return responses.frame_error(request_id, to_body(result.error), **result.receipt)
        return responses.ack(request_id, result.to_body())

    def send_batch(self, frame: dict[str, Any], caller: Caller, correlation_id: str, meter: Meter) -> dict[str, Any]:
        """Accept the frame's events, with one result each."""
        events = event_list(frame, BATCH_LIMIT)
        results = self._acceptor.accept(CHAT, caller, events, correlation_id, meter)
        return responses.acks(responses.request_id_of(frame), [result.to_body() for result in results])

    def ping(self, frame: dict[str, Any], _caller: Caller, _correlation_id: str, _meter: Meter) -> dict[str, Any]:
        """Tell the time."""
        return responses.pong(responses.request_id_of(frame), times.iso(self._clock.now()))

    def unknown(self, frame: dict[str, Any], _caller: Caller, _correlation_id: str, _meter: Meter) -> dict[str, Any]:
        """Refuse an action that there is not."""
        detail = FieldError("action", "is not an action", echo(frame.get("action")), ACTIONS)
        raise InvalidRequest("the frame's action is not known", details=[detail])


Action = Callable[[Frames, dict[str, Any], Caller, str, Meter], dict[str, Any]]
Act = Callable[[dict[str, Any], Caller, str, Meter], dict[str, Any]]


def answer_frame(event: Mapping[str, Any], clock: Clock, scope_prefix: str, act: Act) -> dict[str, Any]:
    """What ``act(frame, caller, correlation_id, meter)`` answers to a MESSAGE event, or the error that stopped it.

    Never raises.
    """
    meter = Meter()
    request_id = None
    correlation_id = correlate(event)
    try:
        frame = parse_object(event.get("body"), "frame")
        request_id = responses.request_id_of(frame)
        caller = caller_from_frame(event, scope_prefix)
        caller.require_unexpired(clock.now())
        return act(frame, caller, correlation_id, meter)
    except HeadraceError as error:
        return responses.frame_error(request_id, to_body(error))
    except Exception as error:  # noqa: BLE001 - reported, and answered as an error: the client must not wait
        report_unexpected(error)
        return responses.frame_error(request_id, to_body(error))
    finally:
        meter.flush()
