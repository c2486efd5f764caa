"""Consent: who is invited to a room rather than added."""

from __future__ import annotations

from dataclasses import replace

from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.times import Clock
from headrace.streams.chat.rooms.invitations import Invitation, Invitations, blocked_by
from headrace.streams.chat.rooms.memberships import Membership, Memberships, Role
from headrace.streams.chat.rooms.rooms import MEMBERS, CachedRooms, Room

SHARED_ROOMS = 2000
"""Rooms of the caller among which a common room is looked for."""
AT_ONCE = 100
"""Of these rooms, how many are looked up at once: the search ends with the first common room."""
ADDED_LIMIT = 10
"""Joins of a user in one room after which owners can only invite. The user's own joins count too."""


class Consent:
    """Decides whether a caller adds a user to a room or only invites them. Every method may raise StoreUnavailable."""

    def __init__(self, invitations: Invitations, memberships: Memberships, rooms: CachedRooms, clock: Clock) -> None:
        self.invitations = invitations
        self._memberships = memberships
        self._rooms = rooms
        self._clock = clock

    def is_needed(self, caller: Caller, membership: Membership) -> bool:
        """Whether the caller must invite the user of ``membership`` instead of adding them.

        Callers with events:write add every user at once. Other callers add the users with whom they are in another
        ``members`` room. A user who left for good, or has joined ``ADDED_LIMIT`` times, is always invited.

        Raises:
            Forbidden: the user blocks the caller.
        """
        user_id = membership.user_id
        if user_id == caller.subject or caller.has(EVENTS_WRITE) or membership.is_open:
            return False
        if self.invitations.is_blocked(user_id, caller.subject):
            raise blocked_by(user_id)
        if membership.left_for_good or len(membership.joins) >= ADDED_LIMIT:
            return True
        return not self._share_a_room(caller.subject, user_id)

    def _share_a_room(self, user_id: str, other_id: str) -> bool:
        """Whether both are in one ``members`` room. Open rooms do not count, because users meet strangers there."""
        own, _ = self._memberships.rooms_of(user_id, SHARED_ROOMS)
        room_ids = [each.room_id for each in own if each.is_open]
        for at in range(0, len(room_ids), AT_ONCE):
            others = self._memberships.get_many([(other_id, room_id) for room_id in room_ids[at : at + AT_ONCE]])
            shared = [room_id for (_, room_id), membership in others.items() if membership.is_open]
            rooms = self._rooms.get_many(shared) if shared else {}
            if any(room is not None and room.kind == MEMBERS for room in rooms.values()):
                return True
        return False

    def invite(self, caller: Caller, membership: Membership, role: Role) -> Invitation:
        """Invite the user of ``membership``. An open invitation to the room stays as it is, except for its role.

        Raises:
            Forbidden: the user blocks the caller. Conflict: too many open invitations of the caller.
        """
        found = self.invitations.get(membership.user_id, membership.room_id)
        if found is None:
            now = times.iso(self._clock.now())
            found = Invitation(membership.user_id, membership.room_id, caller.subject, now, role)
        elif found.role == role:
            return found
        invitation = replace(found, role=role)
        self.invitations.add(invitation)
        return invitation

    def joined_at(self, membership: Membership, invitation: Invitation | None) -> str:
        """The time of a join now: the server's, or that of the accepted invitation."""
        since = self._clock.now() if invitation is None else times.micros_of(invitation.invited_at)
        return times.iso(membership.next_time(since))

    def declined(self, room: Room, membership: Membership) -> bool:
        """Delete an open invitation of a user who is not in the room. Returns whether there was one."""
        if room.kind != MEMBERS or membership.is_open:
            return False
        invitation = self.invitations.get(membership.user_id, membership.room_id)
        if invitation is not None:
            self.invitations.remove(invitation)
        return invitation is not None
