"""Leaves out of restored rows what is of people who were erased meanwhile, and of rooms that were deleted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import boto3

from headrace.core import times
from headrace.core.items import Item
from headrace.core.keys import TIME_LENGTH
from headrace.features.declared.stream import OURS
from headrace.features.edits.change import OWNER, changes_by
from headrace.features.people.erasures import DynamoErasures
from headrace.features.people.hashes import ROOM, SKIER, USER, Person, PersonHashes
from headrace.runtime.aws import client
from headrace.storage.dynamodb.client import from_wire, to_wire
from headrace.streams.chat.rooms.memberships import INVITED, INVITERS
from headrace.streams.chat.rooms.rooms import free_from
from localstage.core.errors import StageError
from ops.aws import Stack

OWNERS = {"userId": USER, "skierID": SKIER}
"""The attributes that say whose a row is."""
NAMED = ("memberId", "createdBy", "addedBy", "invitedBy", "deletedBy", "changedBy")
"""Attributes of rows that are of others too, with a user's id. A pseudonym takes its place."""
SECONDS = 10.0  # for an answer of AWS, far from there
SEATS = "seats"
BESIDE = "roomId"
"""The attribute of those who invited a user. Who was blocked stays so."""
LATEST = 10 * times.MINUTE
"""How far behind an erasure the times of its rows may be: a clock may be 5 minutes ahead, and it takes a few itself."""
TIMES = ("timestamp", "timestampSk", "joins", "leaves", "invitedAt", "createdAt")
_PREFIXES = (changes_by(""), INVITED, INVITERS)


class Erased:
    """Who was erased in a stage, as its table of erasures says."""

    def __init__(self, erasures: DynamoErasures, hashes: PersonHashes) -> None:
        self._erasures = erasures
        self._hashes = hashes

    @classmethod
    def of(cls, stack: Stack) -> Erased:
        """The people who were erased in ``stack``, read with the credentials of the environment."""
        tables, secrets = stack.ids("AWS::DynamoDB::Table"), stack.ids("AWS::SecretsManager::Secret")
        if "ErasuresTable" not in tables or "ErasureSecret" not in secrets:
            raise StageError(f"STACK: {stack.name} has no table of erasures")
        return cls.by(tables["ErasuresTable"], secrets["ErasureSecret"])

    @classmethod
    def by(cls, table: str, secret: str) -> Erased:
        """The people whose erasure is in ``table``, as hashes with the key in ``secret``."""
        session: Any = boto3
        answer = session.client("secretsmanager").get_secret_value(SecretId=secret)
        hashes = PersonHashes(lambda: str(answer["SecretString"]))
        return cls(DynamoErasures(client("dynamodb", timeout=SECONDS), table), hashes)

    def without(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """``rows`` in wire form, without those of erased people, and with pseudonyms where others' rows name them."""
        items = [from_wire(row) for row in rows]
        keys = {person: self._hashes.key(person) for item in items for _, person in _people(_known(item))}
        found = self._erasures.erased_at(set(keys.values()))
        erased = {person: found[key] for person, key in keys.items() if key in found}
        kept = (self._without(item, erased) for item in items)
        return [to_wire(item) for item in kept if item is not None]

    def _without(self, item: Item, erased: Mapping[Person, str]) -> Item | None:
        known = _known(item)
        # The sort key of a reaction begins with its user.
        times_of = (str(time)[:TIME_LENGTH] for name in TIMES for time in _each(known.get(name, ())))
        newest = max(filter(times.is_canonical, times_of), default="")
        for name, person in _people(known):
            until = erased.get(person, "")
            until = free_from(person.id, until) if until and name == ROOM else until
            if not until or newest > times.iso(times.micros_of(until) + LATEST):
                continue  # what people do after their erasure is theirs
            if name in (BESIDE, ROOM) or (name in OWNERS and known.get("by") != OWNER):
                return None
            if name in OWNERS:
                item[name] = changes_by(self._hashes.pseudonym(person, erased[person]))
                continue
            pseudonym = self._hashes.pseudonym(person, erased[person])
            item[name] = {*item[name], pseudonym} - {person.id} if name == SEATS else pseudonym
            if name == "memberId":
                item["memberName"] = pseudonym
        return item


def _known(item: Item) -> Item:
    """The attributes whose names say what they are: all but the fields of declared events, which have any names."""
    return {name: item[name] for name in item.keys() & OURS} if "streamKey" in item else item


def _people(item: Item) -> list[tuple[str, Person]]:
    """The people of a row, each after the attribute that names them."""
    found = [(name, Person(kind, _owner(item[name]))) for name, kind in OWNERS.items() if name in item]
    found += [(name, Person(USER, item[name])) for name in NAMED if name in item]
    is_inviter = item.get("userId", "").startswith(INVITERS)
    if is_inviter and "blockedAt" not in item:
        found.append((BESIDE, Person(USER, item["roomId"].removeprefix("#"))))
    # The row of a deleted room stays, which has no kind.
    if "roomId" in item and not is_inviter and ("goneBefore" not in item or "kind" in item):
        found.append((ROOM, Person(ROOM, _room(item["roomId"]))))
    return found + [(SEATS, Person(USER, user)) for user in item.get(SEATS, ())]


def _owner(text: str) -> str:
    """The id in the key of a row."""
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text


def _room(partition: str) -> str:
    """The room of a message, of what is beside it, or of an invitation."""
    return re.sub(r"^#(\w+#)?", "", partition).partition("#")[0]


def _each(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value)
