"""A declared stream as the platform has it: how its events are accepted and stored, and what readers see.

All declared streams share a table. The partition key of a row is ``stream#key``, its sort key that of messages. The
fields of the event are beside these as they were sent, except the user, who is ``userId``: rows are read and erased as
they were stored, whatever becomes of the declaration.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, create_model
from pydantic.alias_generators import to_camel

from headrace import declare
from headrace.core import json, keys, times
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import FieldError, InvalidEvent
from headrace.core.fields import (
    CanonicalTime,
    EventModel,
    Id,
    IncomingModel,
    NewId,
    SenderTag,
    StoredId,
    Time,
    incoming,
    stamped,
)
from headrace.core.items import Item, expires_at
from headrace.core.sender import Incoming, SenderContext, ValidatedEvent, choose_time, choose_user
from headrace.core.stream import TIME_SHARDS, AnalyticsDimensions, ArchivedTable, Index, Stream, TableSettings, Told
from headrace.declare import fields

GROUP = "declared"
"""The persist queues of all declared streams."""
ID_FIELD, TIME_FIELD = "eventId", "timestamp"
USER = "userId"
TIME = "timeSk"
"""What rows are ordered by across keys: the sort key of the row, and its key."""
USER_INDEX = Index(name="UserIndex", partition_key=USER, sort_key="userSk")
TIME_INDEX = Index(name="TimeIndex", partition_key="shardId", sort_key=TIME, sharded=True, shards=TIME_SHARDS)
SECRETS = "secretFields"
"""The names of the fields of a row that are of the type ``Secret``, which go with its user."""
OURS = frozenset({"streamKey", "timestampSk", TIME, USER, "userSk", "shardId", SECRETS, "expiresAt"})
"""The attributes of a row that are not fields of its event."""
DERIVED_ID_LENGTH = 20
"""Characters of the id of an event that came without one: 100 bits."""
USER_FORM = f"{keys.ID_FORM}: who did it; a user's own id, which can be left out"


Fields = dict[Annotated[str, Field(pattern=r"^[a-z][A-Za-z0-9]*$")], str | int | float | bool]


class Stamped(EventModel):
    """An event in an envelope. Its fields were validated when it was accepted, and are stored as they are.

    Operators may see its ``fields`` among dead letters, and never its ``secrets``.
    """

    event_id: StoredId = Field(description=keys.STORED_ID_FORM)
    timestamp: CanonicalTime = Field(description="a canonical UTC time with six digits")
    sender: SenderTag = Field(description="12 characters of base32")
    key: StoredId = Field(description=keys.STORED_ID_FORM)
    user_id: StoredId | None = Field(default=None, description=keys.STORED_ID_FORM)
    fields: Fields = Field(description="texts, numbers and truth values by name")
    secrets: Fields = Field(default_factory=dict, description="as fields")


_stamped = stamped(Stamped)


@dataclass(frozen=True)
class Events:
    """The events of a declared stream."""

    declared: declare.Stream

    @cached_property
    def stream(self) -> Stream:
        """What the platform knows of the stream."""
        declared, own = self.declared, self.declared.table == "own"
        return Stream(
            name=declared.name,
            id_field=ID_FIELD,
            write_scope=CHAT_WRITE if declared.senders == "users" else EVENTS_WRITE,
            sent=lambda: Incoming(self.accept, self.model),
            item=self.item,
            table_setting=f"{declared.name.upper().replace('-', '_')}_TABLE" if own else "DECLARED_TABLE",
            keep_days=declared.keep_days,
            partition_key="streamKey",
            sort_key="timestampSk",
            partitions=lambda key: [self.partition(key)],
            indexes=(USER_INDEX, replace(TIME_INDEX, share=declared.name)),
            analytics_dimensions=AnalyticsDimensions(
                # Without users, events are counted by key in their place, and no answer shows it.
                user=USER if declared.user else to_camel(declared.key),
                groups=tuple(map(to_camel, declared.counted)),
                time=TIME,
                sums=tuple(map(to_camel, declared.sums)),
                key=to_camel(declared.key),
            ),
            people=((USER, "user"),) if declared.user else (),
            tell=self.tell if declared.table == "shared" else None,
            group=GROUP,
        )

    @cached_property
    def model(self) -> type[IncomingModel]:
        """The model of an event as clients send it."""
        more: dict[str, Any] = {
            "event_id": (NewId | None, Field(default=None, description=keys.NEW_ID_FORM)),
            "timestamp": (Time | None, Field(default=None, description=times.ACCEPTED_FORM)),
        }
        for name, each in self.declared.event.model_fields.items():
            known = copy.copy(each)
            known.description = fields.form(each)
            known.metadata = []
            more[name] = (fields.bounded(each), known)
        if self.declared.user:
            more[self.declared.user] = (Id | None, Field(default=None, description=USER_FORM))
        built = {"defer_build": False}
        event = self.declared.event
        return create_model(event.__name__, __base__=event, __doc__=event.__doc__, __cls_kwargs__=built, **more)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of an event as clients send it."""
        found = self.model.model_json_schema()
        for name in self._secrets:
            found["properties"][name]["format"] = "password"
        return found

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of the fields for clients, by the attributes of rows, in the order of the declaration."""
        found = {name: to_camel(name) for name in self.declared.event.model_fields}
        return {USER if name == self.declared.user else alias: alias for name, alias in found.items()}

    def partition(self, key: str) -> str:
        """The partition of the rows with a key: what keys of the shared table begin with, and the key."""
        return f"{self.declared.name}{keys.SEPARATOR}{key}"

    def accept(self, raw: object, sender: SenderContext) -> ValidatedEvent:
        """A client's event, validated and stamped."""
        asked = event = self._incoming(raw)
        user_id = self._user_id(event, sender)
        if self.declared.derive is not None:
            event = self._derived(event)
        if self.declared.check is not None:
            self.declared.check(event)
        timestamp = choose_time(sender, ID_FIELD, event.event_id, event.timestamp)
        given = event.__dict__  # its values are plain: no field is a model
        sent = {alias: value for name, alias in self._sent if (value := given[name]) is not None}
        event_id = event.event_id
        if event_id is None and event.timestamp is None:
            event_id = times.new_message_id(sender.now)
        elif event_id is None:
            event_id = self._derived_id(asked, user_id, timestamp)
        tag = keys.sender_tag(sender.subject)
        key = sent[self._key]
        stamp = {ID_FIELD: event_id, TIME_FIELD: timestamp, "sender": tag, "key": key, "fields": sent}
        if self._secrets:
            stamp["secrets"] = {name: sent.pop(name) for name in self._secrets if name in sent}
        if user_id is not None:
            stamp[USER] = user_id
        place = (self.partition(key), keys.timestamp_sk(timestamp, event_id, tag))
        receipt = {self._key: key, ID_FIELD: event_id, TIME_FIELD: timestamp}
        return ValidatedEvent(stamp, keys.SEPARATOR.join(place), place, receipt)

    @cached_property
    def _incoming(self) -> Any:
        return incoming(self.model)

    @cached_property
    def _key(self) -> str:
        return to_camel(self.declared.key)

    @cached_property
    def _secrets(self) -> list[str]:
        return list(map(to_camel, self.declared.secrets))

    @cached_property
    def _sent(self) -> list[tuple[str, str]]:
        names = [name for name in self.declared.event.model_fields if name != self.declared.user]
        return [(name, to_camel(name)) for name in names]

    def _user_id(self, event: Any, sender: SenderContext) -> str | None:
        """The user of an event: a trusted producer names the user, every other sender is the user."""
        if not self.declared.user:
            return None
        given = getattr(event, self.declared.user)
        name = to_camel(self.declared.user)
        if sender.trusted and given is None:
            raise InvalidEvent(details=[FieldError(name, "is missing", None, f"{keys.ID_FORM}: who did it")])
        try:
            user_id, _ = choose_user(sender, given, None)
        except InvalidEvent as error:
            (detail,) = error.details
            raise InvalidEvent(details=[FieldError(name, detail.message, detail.got, detail.allowed)]) from None
        event.__dict__[self.declared.user] = user_id  # a fifth of the time that pydantic takes
        return user_id

    def _derived_id(self, event: Any, user_id: str | None, timestamp: str) -> str:
        """The id of an event that was sent without one: the same when it is sent again, also after a new default."""
        sent = {name: getattr(event, name) for name, _ in sorted(self._sent) if name in event.model_fields_set}
        return keys.derived_id(self.declared.name, user_id, timestamp, json.encode(sent))[:DERIVED_ID_LENGTH]

    def _derived(self, event: Any) -> Any:
        assert self.declared.derive is not None  # noqa: S101
        values = {to_camel(name): value for name, value in self.declared.derive(event).items()}
        return self._incoming(event.model_dump(by_alias=True, exclude_unset=True) | values)

    def item(self, event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
        """The row of a stamped event."""
        found = _stamped(event)
        partition = self.partition(found.key)
        sk = keys.timestamp_sk(found.timestamp, found.event_id, found.sender)
        sent = found.fields | found.secrets if found.secrets else found.fields
        row: Item = {
            name: Decimal(repr(value)) if type(value) is float else value
            for name, value in sent.items()
            if name not in OURS
        }
        row |= {"streamKey": partition, "timestampSk": sk, TIME: f"{sk}{keys.SEPARATOR}{found.key}"}
        row["shardId"] = keys.shard_of(self.declared.name, f"{partition}#{sk}", table.time_shards.write)
        if found.user_id is not None:
            row |= {USER: found.user_id, "userSk": self.partition(row[TIME])}
        if found.secrets:
            row[SECRETS] = sorted(found.secrets)
        if table.retention_days:
            row["expiresAt"] = expires_at(found.timestamp, accepted_at, table.retention_days)
        return row

    def tell(self, before: Item | None, after: Item) -> Told | None:
        """A stored row of this stream, without its secrets. Changes of rows are erasures, and are not told."""
        if before is not None or stream_name(after) != self.declared.name:
            return None
        seen = {name: value for name, value in self.item_of(after).items() if name not in self._secrets}
        return Told(f"{self.declared.name}.stored", f"{after['streamKey']}{keys.SEPARATOR}{seen['key']}", seen)

    def item_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """What readers see of a row: the fields that it has, first those that are declared."""
        key = keys.parse_timestamp_sk(row["timestampSk"])
        item = {"key": row["timestampSk"], ID_FIELD: key.message_id, TIME_FIELD: key.timestamp}
        item |= {name: shown(row[attribute]) for attribute, name in self.names.items() if attribute in row}
        return item | {name: shown(row[name]) for name in sorted(row.keys() - self.names.keys() - OURS)}


def stream_name(row: Mapping[str, Any]) -> str:
    """The name of the stream of a row, which may be declared no more."""
    return str(row["streamKey"]).partition(keys.SEPARATOR)[0]


ARCHIVED = {
    frozenset(("streamKey", "timestampSk")): ArchivedTable(
        GROUP, "events", lambda row: str(row["timestampSk"])[: times.HOUR_LENGTH], stream_name
    )
}
"""The table of declared streams in the archive. Those that have one of their own are not archived."""


def shown(value: Any) -> Any:
    """A value as JSON has it."""
    return float(value) if type(value) is Decimal else value
