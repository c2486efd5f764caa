"""Invitations to rooms, and whose invitations a user blocks.

An invitation is a row of the Memberships table beside the user's memberships, so that no number of invitations slows
down or crowds out the user's own rooms. A second row per user and inviter holds their open invitations, the joins into
rooms that the user has not opened, and whether the user blocks the inviter. Conditional writes to it set the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from headrace.core.errors import Conflict, FieldError, echo
from headrace.core.items import Item
from headrace.core.keys import TIME_LENGTH
from headrace.core.times import MINUTE, iso, micros_of
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import DynamoTable, to_wire
from headrace.streams.chat.rooms.consent import Invitation
from headrace.streams.chat.rooms.dynamodb import FITS
from headrace.streams.chat.rooms.memberships import INVITED, INVITERS, Pair, Role, membership_event

OPEN_LIMIT = 20
"""Open invitations that one user may have from one inviter."""
UNOPENED_LIMIT = 20
"""Rooms into which one user has put another, who has not opened them: after these, that user can only invite."""
JOIN_TIME = 5 * MINUTE
"""Microseconds in which a counted join or invitation is written, if at all: no function runs as long."""

_SAME = "invitedAt = :at AND invitedBy = :by"
"""The invitation has not been replaced by another one."""


def too_many(user_id: str) -> Conflict:
    """The error for one invitation more than ``OPEN_LIMIT``."""
    detail = FieldError("userId", "has too many invitations from you", echo(user_id), f"{OPEN_LIMIT} open ones")
    return Conflict("this user has not answered your earlier invitations", details=[detail])


def counted_room(event: str) -> str:
    """The room of a counted join or invitation, which is ``time#roomId``."""
    return event[TIME_LENGTH + 1 :]


class DynamoInvitations:
    """Invitations and blocks in the Memberships table. Reads are consistent; each may raise StoreUnavailable."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "invitations")

    def get(self, user_id: str, room_id: str) -> Invitation | None:
        """The stored invitation of a user to a room, if there is one."""
        row = self._table.get(_key(user_id, room_id))
        return None if row is None else _invitation(row)

    def add(self, invitation: Invitation) -> None:
        """Invite, or replace an invitation to the same room. Raises Conflict: ``OPEN_LIMIT`` of this inviter are open.

        So it does for a user who blocks the inviter: the inviter cannot see the block.
        """
        user_id, inviter = invitation.user_id, invitation.invited_by
        oldest = iso(micros_of(invitation.invited_at) - JOIN_TIME)

        def ended(counted: set[str]) -> set[str]:
            """What counts no more. Of each room the newest counts, while it is open or may still be written."""
            newest = {counted_room(each): each for each in sorted({*counted, _counted(invitation)})}
            found = map(_invitation, self._table.get_many([_key(user_id, room_id) for room_id in newest]))
            is_open = {newest[each.room_id] for each in found if each.invited_by == inviter}
            return counted - is_open - {each for each in newest.values() if each >= oldest}

        if self._count(user_id, inviter, "invited", _counted(invitation), OPEN_LIMIT, ended):
            # What accepting has marked stays: a removal has to know of a join that may still follow.
            self._table.update(
                _key(user_id, invitation.room_id),
                "SET invitedBy = :invitedBy, invitedAt = :invitedAt, #role = :role",
                {f":{name}": value for name, value in invitation.to_body().items()},
                ExpressionAttributeNames={"#role": "role"},
            )
        else:
            raise too_many(user_id)

    def count_added(self, user_id: str, by: str, join: str, ended: Callable[[set[str]], set[str]]) -> bool:
        """Count that ``by`` is about to add a user by ``join``, which is ``time#roomId``.

        ``False``: ``UNOPENED_LIMIT`` are counted, also without those that ``ended`` returns, or the user blocks ``by``.
        """
        unblocked = f"attribute_not_exists(blockedAt) AND ({FITS})"
        return self._count(user_id, by, "added", join, UNOPENED_LIMIT, ended, unblocked)

    def _count(
        self,
        user_id: str,
        inviter: str,
        name: str,
        one: str,
        limit: int,
        ended: Callable[[set[str]], set[str]],
        condition: str = FITS,
    ) -> bool:
        """Add to a set of at most ``limit``. If it is full, what ``ended`` returns leaves it first."""
        key = _inviter_key(user_id, inviter)
        values, names = {":set": {one}, ":one": one, ":limit": limit}, {"ExpressionAttributeNames": {"#set": name}}
        if self._table.update_if(condition, key, "ADD #set :set", values, **names):
            return True
        self._uncount(user_id, inviter, ended(set((self._table.get(key) or {}).get(name, ()))), name)
        return self._table.update_if(condition, key, "ADD #set :set", values, **names)

    def set_role(self, invitation: Invitation, role: Role) -> bool:
        """Change the role of an invitation. ``False``: it was withdrawn or replaced meanwhile."""
        key, values = _key(invitation.user_id, invitation.room_id), {**_values(invitation), ":role": role}
        return self._table.update_if(
            _SAME, key, "SET #role = :role", values, ExpressionAttributeNames={"#role": "role"}
        )

    def accept(self, invitation: Invitation) -> bool:
        """As :meth:`.Consent.accept`; so are :meth:`withdraw` and :meth:`remove`."""
        key = _key(invitation.user_id, invitation.room_id)
        return self._table.update_if(_SAME, key, "SET accepted = :true", {**_values(invitation), ":true": True})

    def withdraw(self, invitation: Invitation) -> bool:
        is_gone = self._table.delete_if("attribute_not_exists(accepted)", _key(invitation.user_id, invitation.room_id))
        if is_gone:
            self._uncount(invitation.user_id, invitation.invited_by, {_counted(invitation)})
        return is_gone

    def remove(self, invitation: Invitation) -> None:
        if self._table.delete_if(_SAME, _key(invitation.user_id, invitation.room_id), _values(invitation)):
            self._uncount(invitation.user_id, invitation.invited_by, {_counted(invitation)})

    def _uncount(self, user_id: str, inviter: str, gone: set[str], name: str = "invited") -> None:
        if gone:
            key, names = _inviter_key(user_id, inviter), {"ExpressionAttributeNames": {"#set": name}}
            self._table.update_if("attribute_exists(#set)", key, "DELETE #set :gone", {":gone": gone}, **names)

    def page(self, user_id: str, after: str | None, limit: int) -> tuple[list[Invitation], bool]:
        """Up to ``limit`` stored invitations of a user by room id, and whether there are more."""
        rows, more = self._page(_key, user_id, after, limit)
        return [_invitation(row) for row in rows], more

    def of_room(self, room_id: str, after: str | None, limit: int) -> tuple[list[Invitation], str | None]:
        """Up to ``limit`` stored invitations to a room by user id, and the id to continue after, ``None`` at the end.

        They are found in an index, which may know of the newest ones a moment later.
        """
        start = {} if after is None else {"ExclusiveStartKey": to_wire(_key(after, room_id))}
        keys, more = self._table.query("roomId", f"#{room_id}", IndexName="RoomMembers", Limit=limit, **start)
        # Behind them are the rows of an inviter whose user id is the id of the room.
        invited = [key for key in keys if key["userId"].startswith(INVITED)]
        found = sorted(map(_invitation, self._table.get_many(invited)), key=lambda each: each.user_id)
        return found, _user(invited[-1]) if more and invited and len(invited) == len(keys) else None

    def _page(
        self, key: Callable[[str, str], Item], user_id: str, after: str | None, limit: int
    ) -> tuple[list[Item], bool]:
        start = {} if after is None else {"ExclusiveStartKey": to_wire(key(user_id, after))}
        return self._table.query("userId", key(user_id, "")["userId"], ConsistentRead=True, Limit=limit, **start)

    def blocks(self, pairs: Collection[Pair]) -> set[Pair]:
        """Those of ``pairs`` whose first user blocks the second."""
        rows = self._table.get_many([_inviter_key(*pair) for pair in dict.fromkeys(pairs)])
        return {(row["userId"].removeprefix(INVITERS), _id(row)) for row in rows if "blockedAt" in row}

    def block(self, user_id: str, other_id: str, at: str) -> tuple[str, set[str]]:
        """Refuse invitations of ``other_id``, and delete the open ones.

        Returns since when they are refused, and the rooms of deleted ones from before: the user never sees later ones.
        """
        row = self._table.update(
            _inviter_key(user_id, other_id),
            "SET blockedAt = if_not_exists(blockedAt, :at)",
            {":at": at},
            ReturnValues="ALL_NEW",
        )
        counted = set(row.get("invited", ()))
        for room_id in set(map(counted_room, counted)):
            self._table.delete_if("invitedBy = :by", _key(user_id, room_id), {":by": other_id})
        # Last, so that repeating an interrupted request completes it.
        self._uncount(user_id, other_id, counted)
        since = str(row["blockedAt"])
        return since, {counted_room(each) for each in counted if each[:TIME_LENGTH] <= since}

    def unblock(self, user_id: str, other_id: str) -> None:
        """End a block."""
        self._table.update_if("blockedAt > :at", _inviter_key(user_id, other_id), "REMOVE blockedAt", {":at": ""})

    def blocked(self, user_id: str, after: str | None, limit: int) -> tuple[list[tuple[str, str]], str | None]:
        """Users whom ``user_id`` blocks, by id, each with the time of the block; and the id to continue after.

        It reads ``limit`` inviters at most. Few of them may be blocked, so a page may be short or empty. The id is
        ``None`` at the end.
        """
        rows, more = self._page(_inviter_key, user_id, after, limit)
        found = [(_id(row), row["blockedAt"]) for row in rows if "blockedAt" in row]
        return found, _id(rows[-1]) if more and rows else None


def _key(user_id: str, room_id: str) -> Item:
    """The key of an invitation. No user id and no room id contains ``#``, so no index of a room's members lists it."""
    return {"userId": f"{INVITED}{user_id}", "roomId": f"#{room_id}"}


def _inviter_key(user_id: str, inviter: str) -> Item:
    """The key of the row of a user and one who invited the user, or whom the user blocks."""
    return {"userId": f"{INVITERS}{user_id}", "roomId": f"#{inviter}"}


def _id(row: Item) -> str:
    """The room or the inviter of a row."""
    return str(row["roomId"][1:])


def _user(row: Item) -> str:
    """The invited user of a row."""
    return str(row["userId"].removeprefix(INVITED))


def _counted(invitation: Invitation) -> str:
    """An invitation in the set of those that count."""
    return membership_event(invitation.invited_at, invitation.room_id)


def _values(invitation: Invitation) -> Item:
    return {":at": invitation.invited_at, ":by": invitation.invited_by}


def _invitation(row: Item) -> Invitation:
    return Invitation(_user(row), _id(row), row["invitedBy"], row["invitedAt"], row["role"])
