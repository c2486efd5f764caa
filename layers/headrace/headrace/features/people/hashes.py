"""Names people by keyed hashes, so that nothing keeps the id of a person who was erased."""

from __future__ import annotations

import functools
import hashlib
import hmac
from base64 import b32encode
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from headrace.core.stream import Stream
from headrace.runtime.setting_forms import KeyArn, Settings, TableName
from headrace.services.shared import secrets

USER, SKIER = "user", "skier"
ROOM: Literal["room"] = "room"
PSEUDONYM_PREFIX = "erased-"
_BYTES = 15
"""Bytes of a hash, which are 24 characters of base32: no two people have the same one, and it cannot be guessed."""


class ErasureSettings(Settings):
    """Where it is kept who was erased."""

    erasures_table: TableName
    """Table of erasures, by hashes of people."""
    erasure_secret_arn: KeyArn
    """Secret that people are hashed with."""


class Person(NamedTuple):
    """A user of chat and ads, or a skier. A user and a skier with the same id are two people. A room counts as one."""

    kind: str
    id: str


class PersonHashes:
    """Hashes people with the key that ``read_key`` returns, which may raise SecretsUnavailable."""

    def __init__(self, read_key: Callable[[], str]) -> None:
        self._read_key = read_key

    def key(self, person: Person) -> str:
        """Stands for a person in the table of erasures."""
        return self._hash("person", *person)

    def pseudonym(self, person: Person, erased_at: str) -> str:
        """Stands for a person in the rows that stay: another one for each erasure."""
        return PSEUDONYM_PREFIX + self._hash("pseudonym", *person, erased_at)

    def _hash(self, *parts: str) -> str:
        # No stored id contains "#".
        digest = hmac.digest(
            self._read_key().encode(), "#".join(parts).encode("utf-8", "surrogatepass"), hashlib.sha256
        )
        return b32encode(digest[:_BYTES]).decode().lower()


def people_of(stream: Stream, event: Mapping[str, Any]) -> set[Person]:
    """The people that a stamped event names, which may come from anywhere."""
    named = ((kind, event.get(field)) for field, kind in stream.people)
    return {Person(kind, str(value)) for kind, value in named if isinstance(value, str | int)}


@functools.cache
def person_hashes() -> PersonHashes:
    """The hashes of the stage, by which the table of erasures names people."""
    arn = ErasureSettings.read().erasure_secret_arn
    return PersonHashes(lambda: secrets().text(arn))
