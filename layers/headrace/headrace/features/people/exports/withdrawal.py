"""Takes back the exports that a person is in, when the person is erased."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.core.people import Progress, Target
from headrace.features.people.exports.dynamodb import DynamoExports
from headrace.features.people.exports.exporter import key_of
from headrace.features.people.exports.tasks import ROOM, folder_of
from headrace.features.people.finders import memberships_of, messages_of
from headrace.features.people.hashes import USER, PersonHashes
from headrace.storage.dynamodb.client import DynamoTable, rows_of
from headrace.storage.ports import Objects


class ExportEraser:
    """The step for exports: those of the user, and those of rooms that the user was or wrote in.

    It comes before the steps that change memberships and messages, which lead to the rooms. An export is found again in
    the last round: a file that was being written in the first one is deleted then.
    """

    def __init__(
        self,
        messages: DynamoTable,
        memberships: DynamoTable,
        exports: DynamoExports,
        files: Objects,
        hashes: PersonHashes,
    ) -> None:
        self._messages = messages
        self._memberships = memberships
        self._exports = exports
        self._files = files
        self._hashes = hashes

    def exports(self, target: Target) -> Progress:
        """Delete the files of exports that the user can be in. What was deleted before is not counted again."""
        if deleted := self._withdraw(USER, target.user_id):
            yield "exports", deleted
        seen = set[str]()
        for room_id in self._rooms(target.user_id):
            if room_id not in seen and (deleted := self._withdraw(ROOM, room_id)):
                yield "exports", deleted
            seen.add(room_id)

    def _rooms(self, user_id: str) -> Iterator[str]:
        for find, table in ((memberships_of, self._memberships), (messages_of, self._messages)):
            for row in rows_of(find(table, user_id)):
                yield row["roomId"]

    def _withdraw(self, kind: str, id: str) -> int:
        key = key_of(self._hashes, kind, id)
        names = list(self._files.names(folder_of(key))) if self._exports.withdraw(key) else []
        for name in names:
            self._files.delete(name)
        return len(names)
