"""Invitations in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from headrace.features.invitations.dynamodb import OPEN_LIMIT, UNOPENED_LIMIT, too_many
from headrace.streams.chat.rooms.consent import Invitation
from headrace.streams.chat.rooms.memberships import Pair, Role


class MemoryInvitations:
    """Invitations in memory, for tests: ``rows`` by (userId, roomId), the accepted ones, and blocks since when."""

    def __init__(self) -> None:
        self.rows: dict[Pair, Invitation] = {}
        self.accepted: set[Pair] = set()
        self.between: Callable[[], None] = lambda: None
        """Called between the writes of a method that has several in DynamoDB."""
        self.blocks_since: dict[Pair, str] = {}
        self.added: dict[Pair, set[str]] = {}

    def get(self, user_id: str, room_id: str) -> Invitation | None:
        return self.rows.get((user_id, room_id))

    def add(self, invitation: Invitation) -> None:
        user_id, inviter = invitation.user_id, invitation.invited_by
        rooms = {
            room_id for (user, room_id), each in self.rows.items() if (user, each.invited_by) == (user_id, inviter)
        }
        if len(rooms | {invitation.room_id}) > OPEN_LIMIT:
            raise too_many(user_id)
        self.between()
        self.rows[user_id, invitation.room_id] = invitation

    def set_role(self, invitation: Invitation, role: Role) -> bool:
        is_same = self._is_same(invitation)
        if is_same:
            self.rows[invitation.user_id, invitation.room_id] = replace(invitation, role=role)
        return is_same

    def accept(self, invitation: Invitation) -> bool:
        if not self._is_same(invitation):
            return False
        self.accepted.add((invitation.user_id, invitation.room_id))
        return True

    def withdraw(self, invitation: Invitation) -> bool:
        pair = invitation.user_id, invitation.room_id
        if pair in self.accepted:
            return False
        self.rows.pop(pair, None)
        return True

    def remove(self, invitation: Invitation) -> None:
        if self._is_same(invitation):
            self._delete((invitation.user_id, invitation.room_id))

    def _is_same(self, invitation: Invitation) -> bool:
        found = self.rows.get((invitation.user_id, invitation.room_id))
        return found is not None and replace(found, role=invitation.role) == invitation

    def _delete(self, pair: Pair) -> None:
        del self.rows[pair]
        self.accepted.discard(pair)

    def page(self, user_id: str, after: str | None, limit: int) -> tuple[list[Invitation], bool]:
        rooms = sorted(room for user, room in self.rows if user == user_id and (after is None or room > after))
        return [self.rows[user_id, room_id] for room_id in rooms[:limit]], len(rooms) > limit

    def of_room(self, room_id: str, after: str | None, limit: int) -> tuple[list[Invitation], str | None]:
        users = sorted(user for user, room in self.rows if room == room_id and (after is None or user > after))
        return [self.rows[user, room_id] for user in users[:limit]], users[limit - 1] if len(users) > limit else None

    def count_added(self, user_id: str, by: str, join: str, ended: Callable[[set[str]], set[str]]) -> bool:
        counted = self.added.setdefault((user_id, by), set())
        if len(counted | {join}) > UNOPENED_LIMIT:
            counted -= ended(set(counted))
        may = (user_id, by) not in self.blocks_since and len(counted | {join}) <= UNOPENED_LIMIT
        if may:
            counted.add(join)
        return may

    def blocks(self, pairs: Collection[Pair]) -> set[Pair]:
        return set(pairs) & self.blocks_since.keys()

    def block(self, user_id: str, other_id: str, at: str) -> tuple[str, set[str]]:
        since = self.blocks_since.setdefault((user_id, other_id), at)
        self.between()
        found = [each for each in self.rows.values() if (each.user_id, each.invited_by) == (user_id, other_id)]
        for each in found:
            self._delete((each.user_id, each.room_id))
        return since, {each.room_id for each in found if each.invited_at <= since}

    def unblock(self, user_id: str, other_id: str) -> None:
        self.blocks_since.pop((user_id, other_id), None)

    def blocked(self, user_id: str, after: str | None, limit: int) -> tuple[list[tuple[str, str]], str | None]:
        others = sorted(
            other for user, other in self.blocks_since if user == user_id and (after is None or other > after)
        )
        found = others[:limit]
        return [(each, self.blocks_since[user_id, each]) for each in found], found[-1] if len(others) > limit else None
