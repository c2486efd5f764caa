"""Rooms and memberships in memory, with a clock that tests move."""

from __future__ import annotations

import functools
import json
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.router import Api, Handler, Route, http_handler
from headrace.core.caller import Caller
from headrace.delivery.acceptor import Acceptor
from headrace.live.hints import SubscriberHints
from headrace.streams.chat.messages.check import MessageCheck
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.messages.room_log import restart
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.rooms.channels import Channels
from headrace.streams.chat.rooms.consent import Consent, Invitation
from headrace.streams.chat.rooms.joins import Joins
from headrace.streams.chat.rooms.memberships import Membership
from headrace.streams.chat.rooms.rooms import CachedRooms, RoomKind
from headrace.streams.chat.rooms.routes import RoomServices
from tests.fakes.chat import MemoryMemberships, MemoryRooms
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryConnections, MemoryRoomLog
from tests.fakes.queues import MemoryLivePublisher
from tests.fakes.storage import MemoryCache
from tests.worlds.functions import routes_of
from tests.worlds.requests import Context, http_event
from tests.worlds.senders import CHAT, NOW, TABLE
from tests.worlds.write_path import QUEUES, WritePath

TRUSTED = "events:write"
GROUP = {"kind": "members"}
OPEN = {"kind": "open"}
DIRECT = {"kind": "members", "form": "direct"}
OLD = "2009-05-01T10:00:00.000000Z"
LATER = "2009-05-01T11:00:00.000000Z"


class NoInvitations(Consent):
    """None is stored from before."""

    def __init__(self) -> None:
        super().__init__(lambda: self)

    def stored(self, user_id: str, room_id: str, kind: RoomKind = "members") -> Invitation | None:
        return None


class RoomWorld:
    """The rooms of a stage without features. ``request`` sends manage_rooms a request as one user."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.rooms = MemoryRooms(self.clock)
        self.memberships = MemoryMemberships()
        self.connections = MemoryConnections(self.clock)
        self.marks = MemoryCache(self.clock)
        self.write_path = WritePath()
        self.live = MemoryLivePublisher()
        self.gate_time = 0.0
        self.acceptor = Acceptor(self.write_path.broker, self.write_path.retry, QUEUES, self.clock)
        self.access = RoomAccess(self.rooms, self.memberships)
        self.gate = self.new_gate()
        self.check = MessageCheck(self.rooms, self.memberships, self.clock)
        self.routes = self.environment(self.clock)

    def add_rooms(self) -> None:
        """Alice owns the members room ``kitchen``, in which bob is; ``hall`` is an open room."""
        self.ok("alice", "PUT", "kitchen", GROUP)
        self.bring("alice", "kitchen", "bob")
        self.ok("alice", "PUT", "hall", OPEN)

    def gates(self, _kind: str) -> tuple[RoomGate]:
        """The gates of messages."""
        return (self.gate,)

    def new_gate(self, *, by_first_message: bool = True) -> RoomGate:
        """The gate of a new environment."""
        rooms = CachedRooms(self.rooms)
        return RoomGate(rooms, self.memberships, lambda: self.gate_time, by_first_message=by_first_message)

    def environment(self, clock: FixedClock) -> Handler:
        """manage_rooms in a new environment with its own clock."""
        rooms = CachedRooms(self.rooms)
        hints = SubscriberHints(self.marks, self.connections, sleep=self.clock.advance)
        log = MemoryRoomLog(self.marks)
        channels = self.channels(log, hints, clock)
        joins = Joins(self.memberships, CHAT, self.acceptor, channels)
        cursors = CursorSigner(b"k" * 32)
        services = RoomServices(
            rooms,
            self.memberships,
            self.access,
            self.connections,
            hints,
            self.consent(rooms),
            joins,
            channels,
            functools.partial(restart, log),
            lambda: cursors,
            self.live,
            TABLE.retention_days,
        )
        return http_handler(Api(self.manage_rooms(rooms), lambda: services, clock))

    def channels(self, _log: MemoryRoomLog, _hints: SubscriberHints, _clock: FixedClock) -> Channels:
        """What tells users of changes."""
        return Channels()

    def consent(self, _rooms: CachedRooms) -> Consent:
        """What decides who joins at once."""
        return NoInvitations()

    def manage_rooms(self, _rooms: CachedRooms) -> dict[str, Route]:
        """The routes of manage_rooms."""
        return routes_of("manage_rooms")

    def invitation_routes(self) -> Handler:
        return self.routes  # without invitations, a stage has no others

    def request(
        self,
        user: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        scopes: str = "chat:write chat:read",
        query: dict[str, str] | None = None,
        routes: Handler | None = None,
    ) -> tuple[int, Any]:
        """Status and body of an answer.

        ``path`` is ``room``, ``room/members``, ``room/members/user``, ``room/invited``, ``room/read``,
        ``room/deletion``, ``user/direct/user``, ``user/invitations``, ``user/blocked`` or ``user/blocked/user``.
        """
        parts = path.split("/")
        of_user = parts[1:2] in (["direct"], ["blocked"], ["invitations"])
        names = ("userId", "", "otherId") if of_user else ("roomId", "", "userId")
        route = f"{method} /rooms/{{roomId}}" + ["", "/members", "/members/{userId}"][len(parts) - 1]
        if parts[1:] == ["invited"]:
            route = "GET /rooms/{roomId}/invitations"
        if parts[1:] in (["online"], ["read"], ["deletion"]):
            route = f"{method} /rooms/{{roomId}}/{parts[1]}"
        if of_user:
            route = f"{method} /users/{{userId}}/{parts[1]}" + ("/{otherId}" if len(parts) > 2 else "")
            is_of_rooms = parts[1] == "direct" or (method == "PUT" and parts[1] == "blocked")
            routes = routes or (None if is_of_rooms else self.invitation_routes())
        given = {name: part for name, part in zip(names, parts, strict=False) if name}
        event = http_event(route, body, user=user, scope=scopes, path=given, query=query)
        answer = (routes or self.routes)(event, Context())
        return answer["statusCode"], json.loads(answer["body"])

    def ok(self, *arguments: Any, **more: Any) -> Any:
        """The body of an answer that must be 200."""
        status, body = self.request(*arguments, **more)
        assert status == 200, body
        return body

    def refused(self, *arguments: Any, **more: Any) -> tuple[int, str]:
        """Status and code of an answer that must be an error."""
        status, body = self.request(*arguments, **more)
        return status, body["error"]["code"]

    def bring(self, _owner: str, room: str, user: str, body: Any = None) -> Any:
        """The user's membership after the user was added, by a producer: a stage without invitations refuses others."""
        return self.ok("importer", "PUT", f"{room}/members/{user}", body, scopes=TRUSTED)

    def row(self, user: str, room: str = "kitchen") -> Membership:
        return self.memberships.get(user, room)

    def join_messages(self) -> list[tuple[str, str, str]]:
        """The published join messages as type, user and time, each once, in order."""
        unique = {
            (each["messageType"], each["userId"], each["timestamp"]): None for each in self.write_path.published()
        }
        return sorted(unique, key=lambda message: message[2])


def caller(user: str, *scopes: str) -> Caller:
    return Caller(user, user.title(), frozenset(scopes or ("chat:write", "chat:read")), 4_102_444_800)
