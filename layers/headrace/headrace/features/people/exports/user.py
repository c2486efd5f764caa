"""What is held about a user: every row that names the user, as it is stored.

Of memberships and invitations of others that name the user, a line has only the keys and what names the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from headrace.core.items import Item
from headrace.core.people import Line, Pages, Source, lines_of
from headrace.features.people import finders
from headrace.features.people.exports.lines import Omitted
from headrace.features.people.exports.tasks import Task
from headrace.storage.dynamodb.client import DynamoTable

_NAMED = ("userId", "roomId", "addedBy", "invitedBy")
NOT_INCLUDED: Sequence[Omitted] = (
    {"what": "messages of others, also those that the user deleted as an owner", "why": "they are theirs"},
    {"what": "who blocks the user", "why": "it protects them"},
    {"what": "events that wait in a queue, and dead letters", "why": "they are not stored yet: export again later"},
    {"what": "rides, unless an operator named the skier", "why": "nothing says which skier a user is"},
    {"what": "counts, the cache and backups", "why": "they are made of the rows that are here"},
    {"what": "logs", "why": "they have no text, and name only users whose connections an operator closed"},
)


@dataclass(frozen=True, slots=True)
class UserSources:
    """Reads the tables that a user's rows are in."""

    messages: DynamoTable
    rooms: DynamoTable
    memberships: DynamoTable
    connections: DynamoTable
    features: Callable[[str, str | None], Sequence[Source]]

    def of(self, task: Task) -> tuple[Sequence[Source], Sequence[Omitted]]:
        """The sources of a user's export in their order, and what none of them has."""
        user_id, skier_id = task.id, task.beside
        memberships = self.memberships
        sources: list[Source] = [
            partial(lines_of, "messages", finders.messages_of, self.messages, user_id),
            *self.features(user_id, skier_id),
            partial(_memberships, memberships, self.messages, user_id),
            partial(lines_of, "invitations", finders.invitations_of, memberships, user_id),
            partial(lines_of, _inviter, finders.inviters_of, memberships, user_id),
            partial(lines_of, "connections", finders.connections_of, self.connections, user_id, shown=self._whole),
            # These read whole tables.
            partial(lines_of, "namedByOthers", finders.named_by_others, memberships, user_id, shown=_named),
            partial(lines_of, "rooms", finders.rooms_naming, self.rooms, user_id),
        ]
        return sources, NOT_INCLUDED

    def _whole(self, keys: list[Item]) -> list[Item]:
        return self.connections.get_many([{name: row[name] for name in ("roomId", "connectionId")} for row in keys])


def _inviter(row: Item) -> str:
    return "blocks" if "blockedAt" in row else "inviters"


def _memberships(memberships: DynamoTable, messages: DynamoTable, user_id: str, start: Item | None) -> Pages:
    """Memberships, and the notices about them that others have sent: the user's own are among the messages."""
    for rows, place in finders.memberships_of(memberships, user_id, start):
        for row in rows:
            # One at a time: each join and leave costs a query for each shard of its room.
            found = finders.notices_of(messages, row)
            lines: list[Line] = [("notices", each) for each in found if each["userId"] != user_id]
            behind = place if row is rows[-1] else {name: row[name] for name in ("userId", "roomId")}
            yield [("memberships", row), *lines], behind


def _named(rows: list[Item]) -> list[Item]:
    return [{name: row[name] for name in _NAMED if name in row} for row in rows]
