"""The stream ``ads``: clicks on ads.

The key of a row is the id and the sender of its click. So a click that is sent again with another time, ad or user is
the same click, and the row that was stored first stays. The row of a click that was taken back is a stub. It is in no
index, and keeps the click from being stored again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from headrace.core import keys, times
from headrace.core.caller import CHAT_WRITE
from headrace.core.fields import EventModel, Id, SenderTag, StoredId, Text, accepts, stamped
from headrace.core.items import Item, expires_at
from headrace.core.sender import Incoming
from headrace.core.stream import (
    TIME_SHARDS,
    AnalyticsDimensions,
    ArchivedTable,
    Index,
    Shards,
    Stream,
    TableSettings,
    Told,
)
from headrace.features.ads import FEATURE

ID_FIELD, OTHER_ID_FIELD = "clickId", "messageId"
TAKEN_BACK = "takenBack"
"""Attribute that only stubs have."""
PLACE = "takenFrom"
"""The key of a click that was taken back."""
STORED_TYPE, TAKEN_BACK_TYPE = FEATURE.tells
"""What others are told."""
ONCE_DAYS = 7
"""Days for which a click's id counts only once. Rows are kept at least this long, even with a shorter retention."""
AD_ID_FORM = f"{keys.ID_FORM}, without spaces"
STORED_AD_ID_FORM = f"{keys.STORED_ID_FORM}, without spaces"
AD_TYPE_FORM = "1 to 32 letters, digits, '.', '_' or '-'"
_TIMES = "microseconds since the epoch, of the years 1970 to 9999"
_LAST_TIME = times.micros_of("9999-12-31T23:59:59.999999Z")
_TYPE = re.compile(r"[A-Za-z0-9._-]{1,32}")

AD_SHARDS = Shards(write=4, read=4)
"""Each shard takes 1,000 clicks of one ad a second. Raise ``read`` first, and never lower it below a ``write`` that
stored clicks were written with."""
AD_INDEX = Index(name="AdIndex", partition_key="adShardId", sort_key="timestampSk", of="adId", shards=AD_SHARDS)
TIME_INDEX = Index(name="TimeIndex", partition_key="bucketId", sort_key="timestampSk", sharded=True, shards=TIME_SHARDS)
USER_INDEX = Index(name="UserIndex", partition_key="userId", sort_key="timestampSk")


def _spaceless(value: str) -> str:
    if value.split() != [value]:
        raise PydanticCustomError("invalid_key", "contains a space")
    return value


def _ad_type(value: str) -> str:
    if not _TYPE.fullmatch(value):
        raise PydanticCustomError("invalid_key", "is not a type of ads")
    return value


_LENGTH = {"minLength": 1, "maxLength": keys.ID_LIMIT}
SPACELESS = (
    AfterValidator(_spaceless),
    accepts(**_LENGTH, pattern=r"^(?!\.{1,2}$)[^#/?\s\u0000-\u001f\u007f-\u009f]+$"),
)
AdId = Annotated[Id, *SPACELESS]
StoredAdId = Annotated[
    StoredId, AfterValidator(_spaceless), accepts(**_LENGTH, pattern=r"^[^#\s\u0000-\u001f\u007f-\u009f]+$")
]
AdType = Annotated[str, AfterValidator(_ad_type), accepts(pattern=f"^{_TYPE.pattern}$")]


class StampedClick(EventModel):
    """A click in an envelope. Its field names have one letter, to keep messages small."""

    ad_id: StoredAdId = Field(alias="a", description=STORED_AD_ID_FORM)
    user_id: StoredId = Field(alias="u", description=keys.STORED_ID_FORM)
    ad_type: AdType = Field(alias="t", description=AD_TYPE_FORM)
    clicked_at: int = Field(alias="c", ge=0, le=_LAST_TIME, description=_TIMES)
    click_id: StoredId = Field(alias="i", description=keys.STORED_ID_FORM)
    address_hash: Text | None = Field(default=None, alias="h", max_length=16, description="16 characters of base64url")
    sender: SenderTag = Field(alias="s", description="12 characters of base32")


ATTRIBUTES = {name: to_camel(name) for name in StampedClick.model_fields if name != "clicked_at"}
"""What a row has of a click, by the field: its time is in ``timestampSk``."""
HIDDEN = {"address", "addressHash", "sender"}
"""Fields and attributes that no answer has: an address is a person's, and the sender is in the item's ``key``."""
_SHOWN = tuple(attribute for attribute in ATTRIBUTES.values() if attribute not in HIDDEN)


class StampedTakeBack(EventModel):
    """In an envelope, what takes a click back."""

    click_id: StoredId = Field(alias="i", description=keys.STORED_ID_FORM)
    taken_back_by: SenderTag = Field(alias="b", description="12 characters of base32")


_stamped = stamped(StampedClick)
_stamped_take_back = stamped(StampedTakeBack)


def event_id(click_id: str, sender_tag: str) -> str:
    """The key of a click's row as one text. It chooses the queue and the shards of the click."""
    return f"{click_id}#{sender_tag}"


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of a stamped click, or the stub of one that is taken back.

    It is kept for ``table.retention_days``, at least 7; without limit if that is 0.
    """
    if "b" in event:
        return _stub(_stamped_take_back(event), accepted_at, table)
    click = _stamped(event)
    clicked_at = times.iso(click.clicked_at)
    whole = event_id(click.click_id, click.sender)
    values = click.__dict__
    row: Item = {attribute: values[name] for name, attribute in ATTRIBUTES.items() if values[name] is not None}
    row["timestampSk"] = keys.timestamp_sk(clicked_at, click.click_id, click.sender)
    row["adShardId"] = keys.shard_of(click.ad_id, whole, AD_SHARDS.write)
    row["bucketId"] = keys.bucket_id(whole, table.time_shards.write)
    if table.retention_days:
        row["expiresAt"] = expires_at(clicked_at, accepted_at, max(table.retention_days, ONCE_DAYS))
    return row


def _stub(event: StampedTakeBack, accepted_at: int, table: TableSettings) -> Item:
    row: Item = {"clickId": event.click_id, "sender": event.taken_back_by, TAKEN_BACK: True}
    if table.retention_days:
        row["expiresAt"] = expires_at(times.iso(accepted_at), accepted_at, max(table.retention_days, ONCE_DAYS))
    return row


def item_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The item that clients see of a row; it has no hash of an address."""
    key = keys.parse_timestamp_sk(row["timestampSk"])
    item = {"key": row["timestampSk"], "clickId": key.message_id, "clickedAt": key.timestamp}
    return item | {name: row[name] for name in _SHOWN if name in row}


def tell(before: Item | None, after: Item) -> Told | None:
    """A click that was stored, or taken back: then only its key is told."""
    key = event_id(after["clickId"], after["sender"])
    if TAKEN_BACK in after:
        is_told = before is not None and TAKEN_BACK in before
        return None if is_told else Told(TAKEN_BACK_TYPE, key, {"clickId": after["clickId"]})
    return Told(STORED_TYPE, key, item_of(after)) if before is None else None


def hour(row: Item) -> str:
    """The hour of a click, also of one that was taken back; empty if it was taken back before it was stored."""
    place: str = row.get("timestampSk") or row.get(PLACE, "")
    return place[: times.HOUR_LENGTH]


def _sent() -> Incoming:
    # Imported here: functions that store or read clicks accept none.
    from headrace.features.ads.accepting import SENT

    return SENT


STREAM = ADS = Stream(
    name="ads",
    id_field=ID_FIELD,
    write_scope=CHAT_WRITE,
    other_id_field=OTHER_ID_FIELD,
    sent=_sent,
    item=item,
    table_setting="AD_CLICKS_TABLE",
    retention_setting="ADS_RETENTION_DAYS",
    partition_key="clickId",
    sort_key="sender",
    indexes=(AD_INDEX, USER_INDEX, TIME_INDEX),
    analytics_dimensions=AnalyticsDimensions(user="userId", groups=("adType", "adId")),
    people=(("u", "user"),),
    tell=tell,
    archived={frozenset(("clickId", "sender")): ArchivedTable("ads", "clicks", hour)},
)
