"""What is held about a user: every row that names the user, as it is stored.

Of memberships and invitations of others that name the user, a line has only the keys and what names the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from headrace.core.items import Item
from headrace.erasure import finders
from headrace.exports.lines import Line, Omitted, Pages, Source
from headrace.exports.tasks import Task
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import DynamoTable
from headrace.streams.chat.attachments.files import ATTACHMENTS
from headrace.streams.chat.attachments.store import Attachments
from headrace.streams.chat.messages.dynamodb import DynamoMessages

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

    client: AwsClient
    messages: str
    rooms: str
    memberships: str
    connections: str
    clicks: str
    rides: str
    attachments: Attachments
    features: Callable[[str], Sequence[Source]]

    def of(self, task: Task) -> tuple[Sequence[Source], Sequence[Omitted]]:
        """The sources of a user's export in their order, and what none of them has."""
        user_id, skier_id = task.id, task.beside
        rides = [] if skier_id is None else [partial(self._rides, skier_id)]
        sources: list[Source] = [
            partial(self._messages, user_id),
            partial(self._attachments, user_id),
            *self.features(user_id),
            partial(self._memberships, user_id),
            partial(self._invitations, user_id),
            partial(self._inviters, user_id),
            partial(self._connections, user_id),
            partial(self._clicks, user_id),
            *rides,
            # These read whole tables.
            partial(self._named_by_others, user_id),
            partial(self._rooms, user_id),
        ]
        return sources, NOT_INCLUDED

    def _table(self, name: str) -> DynamoTable:
        return DynamoTable(self.client, name, "rows")

    @property
    def _messages_table(self) -> DynamoMessages:
        return DynamoMessages(self.client, self.messages, "rows")

    def _messages(self, user_id: str, start: Item | None) -> Pages:
        for rows, place in finders.messages_of(self._messages_table, user_id, start):
            yield [("messages", row) for row in rows], place

    def _attachments(self, user_id: str, start: Item | None) -> Pages:
        """The files that the user uploaded, also those that no message names yet."""
        for name, _ in self.attachments.of_user(user_id, "" if start is None else start["name"]):
            yield [(ATTACHMENTS, self.attachments.exported(name))], {"name": name}

    def _memberships(self, user_id: str, start: Item | None) -> Pages:
        """Memberships, and the notices about them that others have sent: the user's own are among the messages."""
        for rows, place in finders.memberships_of(self._table(self.memberships), user_id, start):
            for row in rows:
                # One at a time: each join and leave costs a query for each shard of its room.
                found = finders.notices_of(self._messages_table, row)
                lines: list[Line] = [("notices", each) for each in found if each["userId"] != user_id]
                behind = place if row is rows[-1] else {name: row[name] for name in ("userId", "roomId")}
                yield [("memberships", row), *lines], behind

    def _invitations(self, user_id: str, start: Item | None) -> Pages:
        for rows, place in finders.invitations_of(self._table(self.memberships), user_id, start):
            yield [("invitations", row) for row in rows], place

    def _inviters(self, user_id: str, start: Item | None) -> Pages:
        for rows, place in finders.inviters_of(self._table(self.memberships), user_id, start):
            yield [("blocks" if "blockedAt" in row else "inviters", row) for row in rows], place

    def _named_by_others(self, user_id: str, start: Item | None) -> Pages:
        for rows, place in finders.named_by_others(self._table(self.memberships), user_id, start):
            named = [{name: row[name] for name in _NAMED if name in row} for row in rows]
            yield [("namedByOthers", row) for row in named], place

    def _rooms(self, user_id: str, start: Item | None) -> Pages:
        for rows, place in finders.rooms_naming(self._table(self.rooms), user_id, start):
            yield [("rooms", row) for row in rows], place

    def _connections(self, user_id: str, start: Item | None) -> Pages:
        table = self._table(self.connections)
        for rows, place in finders.connections_of(table, user_id, start):
            keys = [{name: row[name] for name in ("roomId", "connectionId")} for row in rows]
            yield [("connections", row) for row in table.get_many(keys)], place

    def _clicks(self, user_id: str, start: Item | None) -> Pages:
        table = self._table(self.clicks)
        for rows, place in finders.clicks_of(table, user_id, start):
            keys = [{name: row[name] for name in ("clickId", "sender")} for row in rows]
            yield [("clicks", row) for row in table.get_many(keys)], place

    def _rides(self, skier_id: str, start: Item | None) -> Pages:
        for rows, place in finders.rides_of(self._table(self.rides), skier_id, start):
            yield [("rides", row) for row in rows], place
