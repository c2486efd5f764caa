"""Who is invited rather than added, and which invitations count.

Accepting marks the invitation, joins the room, and deletes the invitation. Removing an invited user deletes an
invitation without the mark; with it, a leave ends the join that may still follow. So the two need no transaction.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.collections import slices
from headrace.core.keys import TIME_LENGTH
from headrace.features.invitations.dynamodb import JOIN_TIME, DynamoInvitations, counted_room
from headrace.runtime.settings import RoomSettings
from headrace.services.rooms import memberships, rooms
from headrace.services.shared import dynamodb
from headrace.streams.chat.rooms.access import effective_role
from headrace.streams.chat.rooms.consent import Consent, Invitation, later_than
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.memberships import MEMBER, OWNER, Membership, Role, membership_event
from headrace.streams.chat.rooms.rooms import MEMBERS, CachedRooms, Room, RoomKind

SHARED_ROOMS = 2000
"""Rooms of the caller among which a common room is looked for."""
AT_ONCE = 100
"""Of these rooms, how many are looked up at once: the search ends with the first common room."""
ADDED_LIMIT = 10
"""Joins of a user in one room after which owners can only invite. The user's own joins count too."""


class Invitations(Consent):
    """Decides whether a caller adds a user to a room or only invites them, and which invitations count."""

    invites = True

    def __init__(self, store: DynamoInvitations, memberships: Memberships, rooms: CachedRooms) -> None:
        super().__init__(lambda: self)
        self.store = store
        self.rooms = rooms
        self._memberships = memberships

    def counting(
        self, found: Sequence[Invitation], rooms: Mapping[str, Room | None], *, for_owners: bool = False
    ) -> list[tuple[Invitation, Room]]:
        """Those of the stored invitations ``found`` that count now, each with its room among ``rooms``.

        The inviter may invite now, and the user does not block them. Nothing happened since: neither did the user join
        or leave, nor was the inviter outside, unless they created the room. ``for_owners`` has also those of blocked
        inviters: a block looks as if the user did not answer.
        """
        if not found:
            return []
        pairs = {(user_id, each.room_id) for each in found for user_id in (each.user_id, each.invited_by)}
        memberships = self._memberships.get_many(list(pairs))
        pairs_of_users = [] if for_owners else [(each.user_id, each.invited_by) for each in found]
        blocked = self.store.blocks(pairs_of_users)
        return [
            (each, room)
            for each in found
            if (room := rooms[each.room_id]) is not None
            and (each.user_id, each.invited_by) not in blocked
            and _is_since(each, memberships[each.user_id, each.room_id])
            and _may_invite(each, room, memberships[each.invited_by, each.room_id])
        ]

    def stored(self, user_id: str, room_id: str, kind: RoomKind = MEMBERS) -> Invitation | None:
        return self.store.get(user_id, room_id) if kind == MEMBERS else None

    def valid(self, invitation: Invitation | None, room: Room, *, for_owners: bool = False) -> Invitation | None:
        found = [] if invitation is None else self.counting([invitation], {room.room_id: room}, for_owners=for_owners)
        return found[0][0] if found else None

    def is_needed(self, caller: Caller, membership: Membership, now: int) -> bool:
        """Whether the caller must invite the user of ``membership`` instead of adding them.

        Callers with events:write add every user at once. Other callers add the users with whom they are in another
        ``members`` room. A user who left for good, who blocks the caller, or has joined ``ADDED_LIMIT`` times, is
        always invited. So is one who has not opened ``UNOPENED_LIMIT`` rooms of this caller: one more counts from
        ``now`` (microseconds) on.
        """
        user_id = membership.user_id
        if user_id == caller.subject or caller.has(EVENTS_WRITE) or membership.is_open:
            return False
        if membership.left_for_good or len(membership.joins) >= ADDED_LIMIT:
            return True
        if self.is_blocked(user_id, caller.subject):
            return True
        return not (self._share_a_room(caller.subject, membership) and self._may_add(caller.subject, membership, now))

    def is_blocked(self, user_id: str, by: str) -> bool:
        return bool(self.store.blocks([(user_id, by)]))

    def accept(self, invitation: Invitation) -> bool:
        return self.store.accept(invitation)

    def withdraw(self, invitation: Invitation) -> bool:
        return self.store.withdraw(invitation)

    def remove(self, invitation: Invitation) -> None:
        self.store.remove(invitation)

    def _share_a_room(self, user_id: str, other: Membership) -> bool:
        """Whether both are in another ``members`` room than that of ``other``.

        Open rooms do not count, because users meet strangers there. In the room of ``other`` that user may be for a
        moment, if a request at the same time accepts an invitation.
        """
        own, _ = self._memberships.rooms_of(user_id, SHARED_ROOMS)
        room_ids = [each.room_id for each in own if each.is_open and each.room_id != other.room_id]
        for part in slices(room_ids, AT_ONCE):
            others = self._memberships.get_many([(other.user_id, room_id) for room_id in part])
            shared = [room_id for (_, room_id), membership in others.items() if membership.is_open]
            rooms = self.rooms.get_many(shared) if shared else {}
            if any(room is not None and room.kind == MEMBERS for room in rooms.values()):
                return True
        return False

    def _may_add(self, by: str, membership: Membership, now: int) -> bool:
        """Count one more room to which ``by`` adds the user of ``membership``. ``False``: the user has to open some.

        It is counted before the user joins, so requests at the same time stay within the limit together.
        """
        user_id = membership.user_id
        join = membership_event(times.iso(membership.next_time(now)), membership.room_id)
        return self.store.count_added(user_id, by, join, functools.partial(self._ended, user_id, by, join, now))

    def _ended(self, user_id: str, by: str, join: str, now: int, counted: set[str]) -> set[str]:
        """Those of the ``counted`` joins, by which ``by`` adds a user, that count no more when ``join`` is added.

        Of each room one counts, until the user has opened or left it. Without a later event in its membership, a join
        may still follow within ``JOIN_TIME``, and counts.
        """
        newest = {counted_room(each): each for each in sorted({*counted, join})}
        for row in self._memberships.get_many([(user_id, room_id) for room_id in newest]).values():
            at = newest[row.room_id][:TIME_LENGTH]
            is_past = row.last_event >= at or times.micros_of(at) < now - JOIN_TIME
            if is_past and not (row.is_open and row.added_by == by and row.read_to is None):
                del newest[row.room_id]
        return counted - set(newest.values())

    def invite(
        self, request: Request[Any, None, Any], room: Room, membership: Membership, role: Role | None
    ) -> Invitation:
        """Invite the user of ``membership``. An open invitation to the room stays as it is, except for its role.

        Without a ``role``, it keeps its role too, and a new one is for a member. A user who blocks the caller never
        sees the invitation, and another owner's invitation replaces it. Raises Conflict: too many open ones of the
        caller.
        """
        caller, user_id = request.caller.subject, membership.user_id
        stored = self.stored(user_id, room.room_id)
        is_own = stored is not None and stored.invited_by == caller
        found = self.valid(stored, room, for_owners=is_own)
        if found is not None and role in (None, found.role):
            return found
        role = role or MEMBER
        if found is not None and self.store.set_role(found, role):
            return replace(found, role=role)
        inviter = self._memberships.get(caller, room.room_id)
        at = times.iso(membership.next_time(later_than(stored, request.now)))
        invitation = Invitation(user_id, room.room_id, caller, max(at, inviter.last_event), role)
        self.store.add(invitation)
        return invitation


def _is_since(invitation: Invitation, user: Membership) -> bool:
    """Whether the user is outside, and neither joined nor left since the invitation."""
    return not user.is_open and user.last_event < invitation.invited_at


def _may_invite(invitation: Invitation, room: Room, inviter: Membership) -> bool:
    """Whether the inviter owns the room, and was in it since the invitation. The creator may be outside."""
    if room.created_by == inviter.user_id:
        return True
    return effective_role(room, inviter) == OWNER and inviter.intervals[-1].covers(invitation.invited_at)


@functools.cache
def consent() -> Invitations:
    table = RoomSettings.read().memberships_table
    return Invitations(DynamoInvitations(dynamodb(), table), memberships(), rooms())
