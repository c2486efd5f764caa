"""Takes back the exports that a person is in, when the person is erased."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.core.people import Progress, Target
from headrace.features.people.exports.tasks import DynamoExports, folder_of
from headrace.features.people.finders import memberships_of, messages_of
from headrace.features.people.hashes import ROOM, USER, Person, PersonHashes
from headrace.storage.dynamodb.client import DynamoTable, rows_of
from headrace.storage.s3 import Objects


def erase_exports(
    messages: DynamoTable,
    memberships: DynamoTable,
    exports: DynamoExports,
    files: Objects,
    hashes: PersonHashes,
    target: Target,
) -> Progress:
    """Delete the files of exports that the user can be in: the user's, and those of rooms to be in or to write in.

    It comes before the steps that change memberships and messages, which lead to the rooms. An export is found again in
    the last round: a file that was being written in the first one is deleted then. What was deleted before is not
    counted again.
    """
    seen = set[Person]()
    for person in _exported(messages, memberships, target.user_id):
        if person not in seen:
            yield from withdraw(exports, files, hashes.key(person))
        seen.add(person)


def withdraw(exports: DynamoExports, files: Objects, key: str) -> Progress:
    """Delete the files of the last export of a user or a room."""
    if exports.withdraw(key):
        names = list(files.names(folder_of(key)))
        for name in names:
            files.delete(name)
        if names:
            yield "exports", len(names)


def _exported(messages: DynamoTable, memberships: DynamoTable, user_id: str) -> Iterator[Person]:
    yield Person(USER, user_id)
    for find, table in ((memberships_of, memberships), (messages_of, messages)):
        for row in rows_of(find(table, user_id)):
            yield Person(ROOM, row["roomId"])
