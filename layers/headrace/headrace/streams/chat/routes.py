"""The HTTP answers about rooms and their members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.api import responses
from headrace.api.auth import caller_from_http
from headrace.api.bodies import http_body
from headrace.api.paging.request import parse_list_request
from headrace.core.caller import CHAT_READ, CHAT_WRITE, EVENTS_WRITE, Caller
from headrace.core.errors import HeadraceError, NotFound
from headrace.core.times import Clock
from headrace.runtime.observability import Meter, correlate, report, report_unexpected
from headrace.streams.chat.history import path_id
from headrace.streams.chat.join_messages import shown_name
from headrace.streams.chat.memberships import Membership
from headrace.streams.chat.room_members import DEFAULT_LIMIT, LIMIT, RoomMembers
from headrace.streams.chat.room_requests import JoinRequest, LeaveRequest, RoomRequest, parse
from headrace.streams.chat.room_service import RoomService


class RoomRoutes:
    """Answers requests of one environment."""

    def __init__(self, keeper: RoomService, members: RoomMembers, clock: Clock, scope_prefix: str) -> None:
        self._keeper = keeper
        self._members = members
        self._clock = clock
        self._scope_prefix = scope_prefix

    def answer(self, event: Mapping[str, Any], route: Route) -> dict[str, Any]:
        """The answer to an HTTP API event: ``route``'s, or the error that stopped it. Never raises."""
        meter = Meter()
        correlation_id = correlate(event)
        try:
            caller = caller_from_http(event, self._scope_prefix)
            return responses.http(200, route(self, event, caller, correlation_id, meter))
        except HeadraceError as error:
            answer = responses.http_error(error)
            if answer["statusCode"] >= 500:
                report(type(error).__name__, f"a room could not be managed: {error.message}", level="error")
            return answer
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error
            report_unexpected(error)
            return responses.http_error(error)
        finally:
            meter.flush()

    def create(self, event: Mapping[str, Any], caller: Caller, correlation_id: str, meter: Meter) -> dict[str, Any]:
        """Create the room in the path."""
        now = self._writer(caller)
        request = parse(RoomRequest, http_body(event), caller, now)
        return self._keeper.create(caller, _path(event, "roomId"), request, correlation_id, meter).to_body()

    def join(self, event: Mapping[str, Any], caller: Caller, correlation_id: str, meter: Meter) -> dict[str, Any]:
        """Bring the user in the path into the room."""
        now = self._writer(caller)
        request = parse(JoinRequest, _optional_body(event), caller, now)
        room_id, user_id = _path(event, "roomId"), _path(event, "userId")
        return self._shown(self._keeper.join(caller, room_id, user_id, request, correlation_id, meter))

    def leave(self, event: Mapping[str, Any], caller: Caller, correlation_id: str, meter: Meter) -> dict[str, Any]:
        """Take the user in the path out of the room."""
        now = self._writer(caller)
        request = parse(LeaveRequest, _optional_body(event), caller, now)
        room_id, user_id = _path(event, "roomId"), _path(event, "userId")
        return self._shown(self._keeper.leave(caller, room_id, user_id, request, correlation_id, meter))

    def members(self, event: Mapping[str, Any], caller: Caller, _correlation_id: str, _meter: Meter) -> dict[str, Any]:
        """A page of who is in the room."""
        caller.require(CHAT_READ, now=self._clock.now())
        request = parse_list_request(event.get("queryStringParameters"), "after", DEFAULT_LIMIT, LIMIT)
        return self._members.page(caller, _path(event, "roomId"), request)

    def unknown(self, _event: Mapping[str, Any], _caller: Caller, _id: str, _meter: Meter) -> dict[str, Any]:
        """Refuse a route that there is not."""
        raise NotFound("there is no such route")

    def _writer(self, caller: Caller) -> int:
        now = self._clock.now()
        caller.require(CHAT_WRITE, EVENTS_WRITE, now=now)
        return now

    def _shown(self, membership: Membership) -> dict[str, Any]:
        last = membership.intervals[-1] if membership.intervals else None
        return {
            "roomId": membership.room_id,
            "userId": membership.user_id,
            "username": shown_name(membership),
            "role": self._keeper.role_of(membership.room_id, membership),
            "joinedAt": last and last.joined_at,
            "leftAt": last and last.left_at,
        }


Route = Callable[[RoomRoutes, Mapping[str, Any], Caller, str, Meter], dict[str, Any]]


def _path(event: Mapping[str, Any], name: str) -> str:
    return path_id(name, event["pathParameters"].get(name))


def _optional_body(event: Mapping[str, Any]) -> dict[str, Any]:
    return http_body(event) if event.get("body") else {}
