"""Invitations to rooms: who is invited rather than added, which invitations count, whom a user blocks, and the routes.

Accepting marks the invitation, joins the room, and deletes the invitation. Removing an invited user deletes an
invitation without the mark; with it, a leave ends the join that may still follow. So the two need no transaction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.params import UserPath
from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.collections import slices
from headrace.core.errors import Conflict, FieldError, echo
from headrace.streams.chat.rooms.memberships import MEMBER, OWNER, Membership, Memberships, Pair, Role, ended_joins
from headrace.streams.chat.rooms.requests import InvitationBody, ListQuery, OtherPath
from headrace.streams.chat.rooms.rooms import MEMBERS, CachedRooms, Room, check_own, effective_role

OPEN_LIMIT = 20
"""Open invitations that one user may have from one inviter."""
SHARED_ROOMS = 2000
"""Rooms of the caller among which a common room is looked for."""
AT_ONCE = 100
"""Of these rooms, how many are looked up at once: the search ends with the first common room."""
UNOPENED_LIMIT = 20
"""Rooms into which one user has put another, who has not opened them: after these, that user can only invite."""
ADDED_LIMIT = 10
"""Joins of a user in one room after which owners can only invite. The user's own joins count too."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """An owner's wish that a user joins a room; ``invited_at`` is a canonical time."""

    user_id: str
    room_id: str
    invited_by: str
    invited_at: str
    role: Role


class Invitations(Protocol):
    """Stores invitations and blocks; reads are consistent. Every method may raise StoreUnavailable."""

    def get(self, user_id: str, room_id: str) -> Invitation | None:
        """The stored invitation of a user to a room, if there is one; :class:`Consent` knows whether it counts."""

    def add(self, invitation: Invitation) -> None:
        """Invite, or replace an invitation to the same room. Raises Conflict: ``OPEN_LIMIT`` of this inviter are open.

        So it does for a user who blocks the inviter: the inviter cannot see the block.
        """

    def set_role(self, invitation: Invitation, role: Role) -> bool:
        """Change the role of an invitation. ``False``: it was withdrawn or replaced meanwhile."""

    def accept(self, invitation: Invitation) -> bool:
        """Mark an invitation, before its user joins. ``False``: it was withdrawn or replaced meanwhile."""

    def withdraw(self, invitation: Invitation) -> bool:
        """Delete the invitation of its user to its room. ``False``: it is marked, so a join may follow at any time."""

    def remove(self, invitation: Invitation) -> None:
        """Delete an invitation, marked or not, unless another one has replaced it."""

    def page(self, user_id: str, after: str | None, limit: int) -> tuple[list[Invitation], bool]:
        """Up to ``limit`` stored invitations of a user by room id, and whether there are more."""

    def of_room(self, room_id: str, after: str | None, limit: int) -> tuple[list[Invitation], str | None]:
        """Up to ``limit`` stored invitations to a room by user id, and the id to continue after, ``None`` at the end.

        They are found in an index, which may know of the newest ones a moment later.
        """

    def count_added(self, user_id: str, by: str, join: str, ended: Callable[[set[str]], set[str]]) -> bool:
        """Count that ``by`` is about to add a user by ``join``, a ``counted_join``.

        ``False``: ``UNOPENED_LIMIT`` are counted, also without those that ``ended`` returns, or the user blocks ``by``.
        """

    def blocks(self, pairs: Collection[Pair]) -> set[Pair]:
        """Those of ``pairs`` whose first user blocks the second."""

    def block(self, user_id: str, other_id: str, at: str) -> tuple[str, set[str]]:
        """Refuse invitations of ``other_id``, and delete the open ones.

        Returns since when they are refused, and the rooms of deleted ones from before: the user never sees later ones.
        """

    def unblock(self, user_id: str, other_id: str) -> None:
        """End a block."""

    def blocked(self, user_id: str, after: str | None, limit: int) -> tuple[list[tuple[str, str]], str | None]:
        """Users whom ``user_id`` blocks, by id, each with the time of the block; and the id to continue after.

        It reads ``limit`` inviters at most. Few of them may be blocked, so a page may be short or empty. The id is
        ``None`` at the end.
        """


@dataclass(frozen=True, slots=True)
class InvitationServices:
    """What the routes of invitations use."""

    consent: Consent
    cursors: CursorSigner


def list_invitations(services: InvitationServices, request: Request[UserPath, ListQuery, None]) -> dict[str, Any]:
    """List the rooms that the caller is invited to, in the order of their ids.

    Accept with `PUT /rooms/{roomId}/members/{userId}`, decline with `DELETE`.
    """
    user_id, query = own_id(request), request.query
    signed = Query("invitations", user_id, user_id)
    consent = services.consent
    found, more = consent.invitations.page(user_id, query.after(services.cursors, signed), query.limit)
    rooms = consent.rooms.table.get_many([each.room_id for each in found])
    items = [{**room.to_body(), **invitation_body(each)} for each, room in consent.counting(found, rooms)]
    following = services.cursors.sign(signed, "after", [found[-1].room_id]) if more else None
    return {"items": items, "next": following, "hasMore": more}


def list_blocked(services: InvitationServices, request: Request[UserPath, ListQuery, None]) -> dict[str, Any]:
    """List the users whose invitations the caller refuses, in the order of their ids."""
    user_id, query = own_id(request), request.query
    signed = Query("blocked", user_id, user_id)
    found, last = services.consent.invitations.blocked(user_id, query.after(services.cursors, signed), query.limit)
    following = None if last is None else services.cursors.sign(signed, "after", [last])
    items = [{"userId": other_id, "blockedAt": at} for other_id, at in found]
    return {"items": items, "next": following, "hasMore": last is not None}


def unblock(services: InvitationServices, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Take invitations of another user again. For a user who is not blocked, nothing changes."""
    services.consent.invitations.unblock(own_id(request), request.path.other_id)
    return {"userId": request.path.other_id, "blockedAt": None}


def own_id(request: Request[Any, Any, Any]) -> str:
    """The user of the path, who must be the caller. Raises Forbidden."""
    user_id: str = request.path.user_id
    check_own(request.caller, user_id, "invitations are shown to their own user only")
    return user_id


def invitation_body(invitation: Invitation) -> InvitationBody:
    """An invitation as responses show it."""
    return {"invitedBy": invitation.invited_by, "invitedAt": invitation.invited_at, "role": invitation.role}


def joined_at(membership: Membership, invitation: Invitation | None, now: int) -> str:
    """The time of a join: that of the accepted invitation, else ``now`` (microseconds)."""
    return times.iso(membership.next_time(now if invitation is None else times.micros_of(invitation.invited_at)))


def later_than(invitation: Invitation | None, now: int) -> int:
    """``now`` (microseconds), or one microsecond after the invitation, if another clock has made it later."""
    return now if invitation is None else max(now, times.micros_of(invitation.invited_at) + 1)


def too_many(user_id: str) -> Conflict:
    """The error for one invitation more than ``OPEN_LIMIT``."""
    detail = FieldError("userId", "has too many invitations from you", echo(user_id), f"{OPEN_LIMIT} open ones")
    return Conflict("this user has not answered your earlier invitations", details=[detail])


class Consent:
    """Decides whether a caller adds a user to a room or only invites them, and which invitations count.

    Every method may raise StoreUnavailable.
    """

    def __init__(self, invitations: Invitations, memberships: Memberships, rooms: CachedRooms) -> None:
        self.invitations = invitations
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
        blocked = self.invitations.blocks(pairs_of_users)
        return [
            (each, room)
            for each in found
            if (room := rooms[each.room_id]) is not None
            and (each.user_id, each.invited_by) not in blocked
            and _is_since(each, memberships[each.user_id, each.room_id])
            and _may_invite(each, room, memberships[each.invited_by, each.room_id])
        ]

    def stored(self, room: Room, user_id: str) -> Invitation | None:
        """The invitation of a user to the room, whether it counts or not.

        Read it before the membership: of one that is accepted meanwhile, the join is seen.
        """
        return self.invitations.get(user_id, room.room_id) if room.kind == MEMBERS else None

    def valid(self, invitation: Invitation | None, room: Room, *, for_owners: bool = False) -> Invitation | None:
        """The stored invitation to ``room``, if it counts now."""
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
        if self.invitations.blocks([(user_id, caller.subject)]):
            return True
        return not (self._share_a_room(caller.subject, membership) and self._may_add(caller.subject, membership, now))

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
        join = membership.counted_join(now)
        ended = functools.partial(ended_joins, self._memberships, membership.user_id, by, join, now)
        return self.invitations.count_added(membership.user_id, by, join, ended)

    def invite(
        self, request: Request[Any, None, Any], room: Room, membership: Membership, role: Role | None
    ) -> Invitation:
        """Invite the user of ``membership``. An open invitation to the room stays as it is, except for its role.

        Without a ``role``, it keeps its role too, and a new one is for a member. A user who blocks the caller never
        sees the invitation, and another owner's invitation replaces it. Raises Conflict: too many open ones of the
        caller.
        """
        caller, user_id = request.caller.subject, membership.user_id
        stored = self.stored(room, user_id)
        is_own = stored is not None and stored.invited_by == caller
        found = self.valid(stored, room, for_owners=is_own)
        if found is not None and role in (None, found.role):
            return found
        role = role or MEMBER
        if found is not None and self.invitations.set_role(found, role):
            return replace(found, role=role)
        inviter = self._memberships.get(caller, room.room_id)
        at = times.iso(membership.next_time(later_than(stored, request.now)))
        invitation = Invitation(user_id, room.room_id, caller, max(at, inviter.last_event), role)
        self.invitations.add(invitation)
        return invitation


def _is_since(invitation: Invitation, user: Membership) -> bool:
    """Whether the user is outside, and neither joined nor left since the invitation."""
    return not user.is_open and user.last_event < invitation.invited_at


def _may_invite(invitation: Invitation, room: Room, inviter: Membership) -> bool:
    """Whether the inviter owns the room, and was in it since the invitation. The creator may be outside."""
    if room.created_by == inviter.user_id:
        return True
    return effective_role(room, inviter) == OWNER and inviter.intervals[-1].covers(invitation.invited_at)
