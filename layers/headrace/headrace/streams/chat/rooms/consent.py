"""Whether an owner adds a user to a room at once. Without invitations, only clients with events:write add others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.streams.chat.rooms.memberships import Membership, Role
from headrace.streams.chat.rooms.requests import InvitationBody
from headrace.streams.chat.rooms.rooms import MEMBERS, Room, RoomKind


@dataclass(frozen=True, slots=True)
class Invitation:
    """An owner's wish that a user joins a room; ``invited_at`` is a canonical time."""

    user_id: str
    room_id: str
    invited_by: str
    invited_at: str
    role: Role

    def to_body(self) -> InvitationBody:
        """The invitation as responses show it."""
        return {"invitedBy": self.invited_by, "invitedAt": self.invited_at, "role": self.role}


class Consent:
    """Decides for a stage without invitations. Methods may raise StoreUnavailable.

    Invitations from before count no more. They are deleted as before, with the help of what ``left_out`` makes: else
    users who were removed meanwhile could join when the feature is back.
    """

    invites = False
    """Whether users who are not added are invited."""

    def __init__(self, left_out: Callable[[], Consent]) -> None:
        self._left_out = left_out

    def is_needed(self, caller: Caller, membership: Membership, _now: int) -> bool:
        """Whether the caller must not add the user of ``membership`` at once. One more counts from ``now`` on."""
        return not (membership.user_id == caller.subject or caller.has(EVENTS_WRITE) or membership.is_open)

    def invite(
        self, _request: Request[Any, None, Any], _room: Room, _membership: Membership, _role: Role | None
    ) -> Invitation | None:
        """Invite the user of ``membership``."""
        return None

    def stored(self, user_id: str, room_id: str, kind: RoomKind = MEMBERS) -> Invitation | None:
        """The invitation of a user to a room of that kind, whether it counts or not.

        Read it before the membership: of one that is accepted meanwhile, the join is seen.
        """
        return self._left_out().stored(user_id, room_id, kind)

    def valid(self, _invitation: Invitation | None, _room: Room) -> Invitation | None:
        """The stored invitation to ``room``, if it counts now."""
        return None

    def accept(self, _invitation: Invitation) -> bool:
        """Mark an invitation, before its user joins. ``False``: it was withdrawn or replaced meanwhile."""
        return False

    def withdraw(self, invitation: Invitation) -> bool:
        """Delete the invitation of its user to its room. ``False``: it is marked, so a join may follow at any time."""
        return self._left_out().withdraw(invitation)

    def remove(self, invitation: Invitation) -> None:
        """Delete an invitation, marked or not, unless another one has replaced it."""
        self._left_out().remove(invitation)

    def is_blocked(self, _user_id: str, _by: str) -> bool:
        """Whether a user blocks the one who has added them."""
        return False


def joined_at(membership: Membership, invitation: Invitation | None, now: int) -> str:
    """The time of a join: that of the accepted invitation, else ``now`` (microseconds)."""
    return times.iso(membership.next_time(now if invitation is None else times.micros_of(invitation.invited_at)))


def later_than(invitation: Invitation | None, now: int) -> int:
    """``now`` (microseconds), or one microsecond after the invitation, if another clock has made it later."""
    return now if invitation is None else max(now, times.micros_of(invitation.invited_at) + 1)
