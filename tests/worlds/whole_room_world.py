"""Rooms in memory with invitations, channels of users, who is online, and uploads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.router import Api, Handler, Route, http_handler
from headrace.features.attachments.uploads import Uploading
from headrace.features.channels.channels import UserChannels
from headrace.features.invitations.consent import Invitations
from headrace.features.invitations.routes import InvitationServices
from headrace.features.online.routes import OnlineServices
from headrace.live.hints import SubscriberHints
from headrace.live.presence import LastChecks
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.rooms.channels import Channels
from headrace.streams.chat.rooms.consent import Consent
from headrace.streams.chat.rooms.rooms import CachedRooms
from tests.fakes.clock import FixedClock
from tests.fakes.files import MemoryFiles, memory_attachments
from tests.fakes.invitations import MemoryInvitations
from tests.fakes.live import MemoryRoomLog
from tests.worlds.functions import routes_of
from tests.worlds.room_world import RoomWorld
from tests.worlds.senders import TABLE

ONLINE = "GET /rooms/{roomId}/online"
UPLOADS = "POST /rooms/{roomId}/attachments"


class WholeRoomWorld(RoomWorld):
    """The rooms of a stage with all features."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.invitations = MemoryInvitations()
        self.has_invitations = True
        super().__init__()

    def environment(self, clock: FixedClock, *, has_invitations: bool = True) -> Handler:
        self.has_invitations = has_invitations
        return super().environment(clock)

    def channels(self, log: MemoryRoomLog, hints: SubscriberHints, clock: FixedClock) -> Channels:
        return UserChannels(log, hints, self.live, clock)

    def consent(self, rooms: CachedRooms) -> Consent:
        invitations = Invitations(self.invitations, self.memberships, rooms)
        return invitations if self.has_invitations else Consent(lambda: invitations)

    def manage_rooms(self, rooms: CachedRooms) -> dict[str, Route]:
        routes = super().manage_rooms(rooms)
        online = OnlineServices(self.access, rooms, self.connections, LastChecks(self.marks))
        check = RoomGate(rooms, self.memberships).check
        uploading = Uploading(check, memory_attachments(self.files), TABLE.retention_days)
        for key, own in {ONLINE: online, UPLOADS: uploading}.items():
            routes[key] = replace(routes[key], services=lambda own=own: own)
        return routes

    def invitation_routes(self) -> Handler:
        consent = Invitations(self.invitations, self.memberships, CachedRooms(self.rooms))
        service = InvitationServices(consent, CursorSigner(b"k" * 32))
        return http_handler(Api(routes_of("manage_invitations"), lambda: service, self.clock))

    def bring(self, owner: str, room: str, user: str, body: Any = None) -> Any:
        """The user's membership after ``owner`` added or invited the user, who accepted."""
        self.ok(owner, "PUT", f"{room}/members/{user}", body)
        return self.ok(user, "PUT", f"{room}/members/{user}")

    def invited_to(self, user: str = "bob") -> list[str]:
        """The rooms in a user's list of invitations."""
        return [each["roomId"] for each in self.ok(user, "GET", f"{user}/invitations")["items"]]
